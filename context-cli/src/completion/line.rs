//! A command line as the user of a shell types it: words, quotes, and the place of the cursor.

/// A word of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The word without its quotes.
    pub(super) text: String,
    /// The quote that is open at the end.
    pub(super) quote: Option<char>,
    /// The start of the part of `text` that the shell replaces.
    pub(super) start: usize,
    /// Whether it begins with a `~` that the shell expands.
    pub(super) tilde: bool,
}

/// Splits a line at spaces outside of quotes. `breaks` are the characters at which the shell begins
/// a new word when it replaces a part of the line: `COMP_WORDBREAKS` of bash. The last word is the
/// one at the cursor, and empty after a space.
pub(super) fn words(line: &str, breaks: &str) -> Vec<Word> {
    let mut words = vec![];
    let (mut word, mut has_word) =
        (Word { tilde: line.starts_with('~'), ..Word::default() }, false);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match (word.quote, c) {
            (None, c) if c.is_whitespace() => {
                if has_word {
                    words.push(std::mem::take(&mut word));
                }
                (has_word, word.tilde) = (false, rest.peek() == Some(&'~'));
                continue;
            }
            (None, '\\') => word.text.extend(rest.next()),
            (None, '"' | '\'') => (word.quote, word.start) = (Some(c), word.text.len()),
            (Some(quote), c) if c == quote => (word.quote, word.start) = (None, 0),
            (Some('"'), '\\') => match rest.next_if(|c| matches!(c, '"' | '\\' | '$' | '`')) {
                Some(c) => word.text.push(c),
                None => word.text.push('\\'),
            },
            (None, c) if breaks.contains(c) => {
                word.text.push(c);
                word.start = word.text.len();
            }
            (_, c) => word.text.push(c),
        }
        has_word = true;
    }
    words.push(word);
    words
}

/// Returns what a shell makes of one word. A quote may be open.
pub(super) fn unquoted(word: &str) -> String {
    let mut words = words(word, "").into_iter();
    words.next().map(|word| word.text).unwrap_or_default()
}

impl Word {
    /// Returns what replaces this word's part so that it becomes `value`. `None` if the shell
    /// cannot write it there.
    pub(super) fn reply(&self, value: &str) -> Option<String> {
        let rest = value.strip_prefix(self.text.get(..self.start)?)?;
        let escaped = |needs: &dyn Fn(char) -> bool| {
            let mut text = String::with_capacity(rest.len());
            for c in rest.chars() {
                if needs(c) && !(text.is_empty() && c == '~' && self.tilde) {
                    text.push('\\');
                }
                text.push(c);
            }
            text
        };
        match self.quote {
            None => Some(escaped(&|c| c.is_ascii() && !is_plain(c))),
            Some('\'') => (!rest.contains('\'')).then(|| rest.to_owned()),
            // Nothing keeps a `!` in double quotes from being expanded.
            Some(_) if rest.contains('!') => None,
            Some(_) => Some(escaped(&|c| matches!(c, '"' | '\\' | '$' | '`'))),
        }
    }
}

/// Whether a character means itself in every shell, anywhere in a word.
pub(super) fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c)
}

#[cfg(test)]
mod tests {
    use super::{Word, unquoted, words};

    const BASH: &str = " \t\n\"'@><=;|&(:";

    #[track_caller]
    fn reply(line: &str, value: &str) -> Option<String> {
        words(line, BASH).last().expect("there is always a last word").reply(value)
    }

    #[test]
    fn a_line_is_split_as_a_shell_splits_it() {
        let texts = |line| words(line, BASH).into_iter().map(|word| word.text).collect::<Vec<_>>();
        assert_eq!(texts("context log a\\ b 'c d'\"e f\""), ["context", "log", "a b", "c de f"]);
        assert_eq!(texts("context log "), ["context", "log", ""]);
        assert_eq!(texts("context '' x"), ["context", "", "x"]);
        assert_eq!(texts("context \"a\\\"b\\c"), ["context", "a\"b\\c"]);
        assert_eq!(texts(""), [""]);
        assert_eq!([unquoted("a\\ b"), unquoted("'a b"), unquoted("")], ["a b", "a b", ""]);
    }

    #[test]
    fn a_reply_replaces_only_what_the_shell_replaces() {
        assert_eq!(reply("log no", "notes").as_deref(), Some("notes"));
        assert_eq!(reply("log a:", "a:b c").as_deref(), Some("b\\ c"));
        assert_eq!(reply("log --branch=ma", "--branch=main").as_deref(), Some("main"));
        assert_eq!(reply("log a\\:b", "a:bc").as_deref(), Some("a:bc"));
        assert_eq!(reply("log a:", "other"), None);
        assert_eq!(reply("log x'a:", "xa:b c").as_deref(), Some("a:b c"));
        assert_eq!(reply("log 'a'b", "abc").as_deref(), Some("abc"));
    }

    #[test]
    fn a_reply_means_the_value_and_runs_nothing() {
        let value = "$(rm x) `y` \"z\" it's \\ ; & * ~ # ü";
        let plain = reply("log ", value).expect("a reply");
        assert_eq!(unquoted(&plain), value);
        assert!(!plain.starts_with('$') && plain.contains("\\`y\\`") && plain.contains("\\*"));
        let double = reply("log \"", value).expect("a reply");
        assert_eq!(unquoted(&format!("\"{double}\"")), value);
        assert_eq!(reply("log '", value), None, "nothing escapes a quote in single quotes");
        assert_eq!(reply("log \"", "wow!"), None);
        assert_eq!(reply("ui ~/n", "~/notes").as_deref(), Some("~/notes"));
        assert_eq!(reply("log ", "~x").as_deref(), Some("\\~x"));
        assert_eq!(
            words("a ~", BASH)[1],
            Word { text: "~".into(), tilde: true, ..Word::default() }
        );
    }
}
