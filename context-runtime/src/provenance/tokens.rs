//! The tokens of a text: values, with the text around them left alone.

use super::shape::{ValueKind, is_path, is_stamp, is_word, kind_of};

/// Longest token in bytes. Longer ones, such as Base64, are passed over.
const MAX_TOKEN: usize = 256;
/// Longest URL in bytes.
const MAX_URL: usize = 2_048;
/// Longest phrase in bytes.
pub(super) const MAX_PHRASE: usize = 120;
/// Maximum number of words of a sentence that is a phrase.
const MAX_WORDS: usize = 8;
/// Maximum number of words of other phrases.
const SEQUENCE: usize = 5;
/// Maximum number of bytes of a text in which every sequence of words is a phrase.
const SHORT_TEXT: usize = 1_024;
/// Maximum number of endings of a path that are tokens of their own.
const MAX_ENDINGS: usize = 8;

/// A value in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    /// The value, which begins and ends with a word character, or a phrase.
    pub(super) value: &'t str,
    /// The byte at which the value starts.
    pub(super) start: usize,
    pub(super) kind: ValueKind,
    /// Whether quotation marks are around the value.
    pub(super) quoted: bool,
}

impl<'t> Token<'t> {
    fn new(text: &'t str, start: usize, end: usize, kind: ValueKind) -> Self {
        Self { value: &text[start..end], start, kind, quoted: false }
    }

    pub(super) fn end(&self) -> usize {
        self.start + self.value.len()
    }
}

/// Calls `found` with each token. Tokens that hold others come before them.
pub(super) fn tokens<'t>(text: &'t str, found: &mut impl FnMut(Token<'t>)) {
    quoted(text, found);
    chunks(text, found);
}

/// Calls `found` with the phrases of a text that nothing quotes: the sequences of a few words in
/// short texts, the short sentences and items of lists in long ones, and pairs of capitalized
/// words, such as names.
pub(super) fn phrases<'t>(text: &'t str, found: &mut impl FnMut(Token<'t>)) {
    let mut start = 0;
    let ends = |c: char| matches!(c, '\n' | '.' | ',' | ';' | ':' | '!' | '?' | '(' | ')' | '"');
    for segment in text.split(ends) {
        let (from, to) = (start, start + segment.len());
        start = to + 1;
        capitalized(text, from, segment, found);
        let mut phrase = |from: usize, to: usize| {
            if let Some((from, to)) =
                trimmed(text, from, to).filter(|(from, to)| to - from <= MAX_PHRASE)
            {
                found(Token::new(text, from, to, ValueKind::Phrase));
            }
        };
        let words = segment.split(' ').filter(|word| word.contains(is_word));
        let count = words.take(MAX_WORDS + 1).count();
        if (2..=MAX_WORDS).contains(&count) {
            phrase(from, to);
        }
        if text.len() <= SHORT_TEXT {
            let mut starts = [0; SEQUENCE];
            let mut at = from;
            for (number, word) in segment.split(' ').enumerate() {
                // The starts of the words before this one, in a ring.
                for back in 1..SEQUENCE.min(number + 1) {
                    phrase(starts[(number - back) % SEQUENCE], at + word.len());
                }
                starts[number % SEQUENCE] = at;
                at += word.len() + 1;
            }
        }
    }
}

/// Calls `found` with each pair of neighbouring capitalized words.
fn capitalized<'t>(text: &'t str, start: usize, segment: &str, found: &mut impl FnMut(Token<'t>)) {
    let (mut at, mut before) = (start, None);
    for word in segment.split(' ') {
        let name = word.starts_with(char::is_uppercase) && word.chars().all(is_word);
        if let (true, Some(first)) = (name, before) {
            found(Token::new(text, first, at + word.len(), ValueKind::Phrase));
        }
        before = name.then_some(at);
        at += word.len() + 1;
    }
}

/// Calls `found` with each text between quotation marks of one line.
fn quoted<'t>(text: &'t str, found: &mut impl FnMut(Token<'t>)) {
    let mut at = 0;
    while let Some(open) = text[at..].find(['"', '`', '“', '«', '„']) {
        let mark = text[at + open..].chars().next().unwrap_or('"');
        let start = at + open + mark.len_utf8();
        let close: &[char] = match mark {
            '“' | '„' => &['”', '“'],
            '«' => &['»'],
            '`' => &['`'],
            _ => &['"'],
        };
        at = start;
        let reach = floor(text, start + MAX_PHRASE + 4);
        let Some(end) = text[start..reach].find(|c| c == '\n' || close.contains(&c)) else {
            continue;
        };
        let inner = &text[start..start + end];
        if inner.is_empty() || text[start + end..].starts_with('\n') {
            continue;
        }
        if let Some(token) = whole(text, start, start + end) {
            found(Token { quoted: true, ..token });
        }
        // The closing mark cannot open the next text.
        at = start + end + text[start + end..].chars().next().map_or(1, char::len_utf8);
    }
}

/// Returns a range of a text as one value: a token, or a phrase of several.
pub(super) fn whole(text: &str, start: usize, end: usize) -> Option<Token<'_>> {
    let inner = &text[start..end];
    let value = inner.trim();
    let at = start + (value.as_ptr() as usize - inner.as_ptr() as usize);
    if value.chars().nth(2).is_none() && kind_of(value).is_none() {
        return cjk(text, at, value);
    }
    if value.len() > MAX_URL {
        return None;
    }
    if let Some((from, to)) = single_chunk(value) {
        let kind = kind_of(&value[from..to])?;
        return Some(Token::new(text, at + from, at + to, kind));
    }
    (value.len() <= MAX_PHRASE && !value.contains('\n'))
        .then(|| Token::new(text, at, at + value.len(), ValueKind::Phrase))
}

/// Returns a phrase of two characters in a script that needs no more for a name.
fn cjk<'t>(text: &'t str, at: usize, value: &str) -> Option<Token<'t>> {
    let wide = |c: char| c.is_alphabetic() && !is_word(c);
    (value.chars().count() == 2 && value.chars().all(wide))
        .then(|| Token::new(text, at, at + value.len(), ValueKind::Phrase))
}

/// Returns the range of the only chunk of a value, without the punctuation around it.
fn single_chunk(value: &str) -> Option<(usize, usize)> {
    let (start, end) = next_chunk(value, 0)?;
    (value[..start].bytes().all(is_joiner) && value[end..].bytes().all(is_joiner))
        .then(|| trimmed(value, start, end))
        .flatten()
}

fn is_joiner(byte: u8) -> bool {
    matches!(
        byte,
        b'.' | b'-' | b'/' | b':' | b'@' | b'+' | b'%' | b'~' | b'&' | b'\\' | b'#' | b'$'
    )
}

/// Returns the range of the next run of word characters and joiners.
fn next_chunk(text: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut start = from;
    // The start of a character is kept, so that slices are valid.
    loop {
        match *bytes.get(start)? {
            byte if byte.is_ascii_alphanumeric() || byte == b'_' => break,
            byte if byte.is_ascii() => start += 1,
            _ => match text[start..].chars().next() {
                Some(c) if is_word(c) => break,
                Some(c) => start += c.len_utf8(),
                None => return None,
            },
        }
    }
    let mut end = start;
    while let Some(&byte) = bytes.get(end) {
        if byte.is_ascii() {
            let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
            let goes_on = match byte {
                b',' => digit(end - 1) && digit(end + 1),
                _ => byte.is_ascii_alphanumeric() || byte == b'_' || is_joiner(byte),
            };
            if !goes_on {
                break;
            }
            end += 1;
        } else {
            match text[end..].chars().next() {
                Some(c) if is_word(c) => end += c.len_utf8(),
                _ => break,
            }
        }
    }
    let end = match text[start..end].find("://") {
        Some(_) => url_end(text, end),
        None => end,
    };
    Some((start, end))
}

/// Returns the end of a URL, which may hold characters that end any other token.
fn url_end(text: &str, from: usize) -> usize {
    let ends = |c: char| {
        c.is_whitespace()
            || (!c.is_ascii() && !is_word(c))
            || matches!(c, '"' | '`' | '<' | '>' | ')' | ']' | '|' | '}' | '\'')
    };
    text[from..].find(ends).map_or(text.len(), |end| from + end)
}

/// Returns a range without the characters at its ends that belong to no word.
fn trimmed(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let token = &text[start..end];
    let from = token.find(is_word)?;
    let (last, c) = token.char_indices().rev().find(|(_, c)| is_word(*c))?;
    Some((start + from, start + last + c.len_utf8()))
}

fn chunks<'t>(text: &'t str, found: &mut impl FnMut(Token<'t>)) {
    let mut at = 0;
    while let Some((from, to)) = next_chunk(text, at) {
        at = to.max(from + 1);
        let Some((start, end)) = trimmed(text, from, to) else { continue };
        let token = &text[start..end];
        let joined = token.bytes().any(is_joiner);
        let url = joined && token.contains("://");
        if token.len() > if url { MAX_URL } else { MAX_TOKEN } {
            continue;
        }
        let kind = kind_of(token);
        if let Some(kind) = kind {
            found(Token::new(text, start, end, kind));
        }
        if !joined || url || matches!(kind, Some(ValueKind::Email | ValueKind::Number)) {
            continue;
        }
        if is_stamp(token) {
            found(Token::new(text, start, start + 10, ValueKind::Date));
        } else if kind != Some(ValueKind::Date) {
            pieces(text, start, end, found);
        }
    }
}

/// Calls `found` with the parts of a chunk that stand for themselves: `src/main.rs` and `main.rs`
/// in `/repo/src/main.rs:12`, and `shown` in `history::shown`.
fn pieces<'t>(text: &'t str, start: usize, end: usize, found: &mut impl FnMut(Token<'t>)) {
    let chunk = &text[start..end];
    let mut part = |from: usize, to: usize| {
        let Some((from, to)) = trimmed(text, from, to) else { return };
        let whole = (from, to) == (start, end);
        if let Some(kind) = kind_of(&text[from..to]).filter(|_| !whole) {
            found(Token::new(text, from, to, kind));
        }
    };
    let mut at = start;
    for piece in chunk.split([':', '&', '@', '%', '+', '#', '$', '~']) {
        let (from, to) = (at, at + piece.len());
        at = to + 1;
        if piece.is_empty() {
            continue;
        }
        part(from, to);
        let slashes = piece.match_indices(['/', '\\']);
        if is_path(piece.trim_matches(|c| !is_word(c))) {
            for (slash, _) in slashes.take(MAX_ENDINGS) {
                part(from + slash + 1, to);
            }
        } else {
            let mut at = from;
            for word in piece.split(['/', '\\', '.']) {
                part(at, at + word.len());
                at += word.len() + 1;
            }
        }
    }
}

/// Returns the last start of a character at or before a byte.
pub(super) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values(text: &str) -> Vec<&str> {
        let mut all = Vec::new();
        tokens(text, &mut |token| {
            assert_eq!(&text[token.start..token.end()], token.value);
            all.push(token.value);
        });
        all
    }

    #[test]
    fn tokens_are_whole() {
        let cases: [(&str, &[&str]); 10] = [
            ("booking EHGLP3.", &["booking", "EHGLP3"]),
            ("XEHGLP34", &["XEHGLP34"]),
            ("(mail Ada@example.org)", &["mail", "Ada@example.org"]),
            ("$1,339.50, 12", &["1,339.50"]),
            ("/repo/src/main.rs:12", &["repo/src/main.rs", "src/main.rs", "main.rs"]),
            ("at 2024-05-03T05:35:00", &["2024-05-03T05:35:00", "2024-05-03"]),
            ("see https://a.io/b?c=d&e=f.", &["see", "https://a.io/b?c=d&e=f"]),
            ("Sophia's `fare class`", &["fare class", "Sophia", "fare", "class"]),
            ("订单EHGLP3已取消", &["EHGLP3"]),
            ("self.token_index", &["self.token_index", "self", "token_index"]),
        ];
        for (text, expected) in cases {
            assert_eq!(values(text), expected, "{text}");
        }
    }

    #[test]
    fn phrases_are_sentences_and_names() {
        let mut all = Vec::new();
        phrases("for a change of plan", &mut |token| all.push(token.value));
        assert!(["change of plan", "for a change of plan"].iter().all(|it| all.contains(it)));
        all.clear();
        let long = format!("1. change of plan\nI am James Patel.{}", " ".repeat(SHORT_TEXT));
        phrases(&long, &mut |token| assert!(long.contains(token.value)));
        phrases(&long, &mut |token| all.push(&long[token.start..token.end()]));
        assert_eq!(all, ["change of plan", "James Patel", "I am James Patel"]);
    }

    proptest! {
        #[test]
        fn any_text_has_tokens(text in "(\\PC|[\"`“” \n.,:/@_#\\\\-]){0,60}") {
            values(&text);
            phrases(&text, &mut |token| assert_eq!(&text[token.start..token.end()], token.value));
        }
    }
}
