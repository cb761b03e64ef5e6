//! Splitting a text into sentences.

/// Returns the trimmed sentences of a text, split after sentence-ending punctuation and at line
/// breaks. Numbers and one-letter abbreviations do not end a sentence.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = end(rest);
            let (sentence, behind) = rest.split_at(end);
            rest = behind;
            let sentence = sentence.trim();
            if !sentence.is_empty() {
                return Some(sentence);
            }
        }
        None
    })
}

/// Returns the end of the first sentence.
fn end(text: &str) -> usize {
    let mut before = [' '; 2];
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let behind = at + c.len_utf8();
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '\n' | '。' | '！' | '？' => true,
            '!' | '?' => next.is_none_or(char::is_whitespace),
            // `e.g. this` and `J. Smith` continue.
            '.' => {
                let is_letter = before[1].is_alphabetic() && !before[0].is_alphanumeric();
                !is_letter && next.is_none_or(char::is_whitespace)
            }
            _ => false,
        };
        if ends {
            return behind;
        }
        before = [before[1], c];
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_behind_its_sentences() {
        let cut = |text| sentences(text).collect::<Vec<_>>();
        assert_eq!(
            cut("I paid $3.50 there. Really? Yes!\nJ. Smith did, e.g. twice."),
            ["I paid $3.50 there.", "Really?", "Yes!", "J. Smith did, e.g. twice."]
        );
        assert_eq!(cut("列车九点开。票价四十欧元。"), ["列车九点开。", "票价四十欧元。"]);
        assert_eq!(cut(" \n \n"), Vec::<&str>::new());
    }
}
