//! Splitting text into words.

use std::ops::Range;

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

use super::fold::fold;
use context_core::Message;

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The range in the text in bytes.
    pub range: Range<usize>,
    /// Its folded form.
    pub folded: String,
}

/// The effect of a character on word boundaries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Part of a word of several characters.
    Letter,
    /// A word by itself.
    Alone,
    /// Part of the preceding word.
    Mark,
    /// A separator.
    Gap,
}

fn class(c: char) -> Class {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() { Class::Letter } else { Class::Gap };
    }
    match c.general_category_group() {
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number => match c.script() {
            Script::Han
            | Script::Hiragana
            | Script::Katakana
            | Script::Bopomofo
            | Script::Yi
            | Script::Thai
            | Script::Lao
            | Script::Khmer
            | Script::Myanmar
            | Script::Tai_Tham
            | Script::Javanese
            | Script::Balinese => Class::Alone,
            // The Japanese prolonged sound mark, and its halfwidth form.
            _ if matches!(c, 'ー' | 'ｰ') => Class::Alone,
            _ => Class::Letter,
        },
        GeneralCategoryGroup::Mark => Class::Mark,
        _ => match c.general_category() {
            GeneralCategory::OtherSymbol => Class::Alone,
            // Joiners inside words of Arabic, Indic scripts and pictographs, and the soft hyphen.
            GeneralCategory::Format => Class::Mark,
            _ => Class::Gap,
        },
    }
}

/// Splits a text into words, in order.
pub fn words(text: &str) -> impl Iterator<Item = Word> {
    Ranges { text, at: 0 }.filter_map(|range| {
        let mut folded = String::with_capacity(range.len());
        fold(&text[range.clone()], &mut folded);
        (!folded.is_empty()).then_some(Word { range, folded })
    })
}

struct Ranges<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Ranges<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let mut word: Option<(usize, Class)> = None;
        for (i, c) in self.text[self.at..].char_indices() {
            let i = self.at + i;
            match (word, class(c)) {
                (None, Class::Gap | Class::Mark) => {}
                (None, class) => word = Some((i, class)),
                (Some(_), Class::Mark) | (Some((_, Class::Letter)), Class::Letter) => {}
                (Some((start, _)), _) => {
                    self.at = i;
                    return Some(start..i);
                }
            }
        }
        self.at = self.text.len();
        word.map(|(start, _)| start..self.text.len())
    }
}

/// Returns the text that an index keeps of a message: the folded words of its readable text,
/// separated by single spaces. It contains only ASCII letters and digits and non-ASCII characters,
/// so an index splits it only at the spaces. Empty if the message has no readable text.
pub fn index_text(message: &Message) -> String {
    let text = message.readable_text();
    let mut out = String::with_capacity(text.len());
    for range in (Ranges { text: &text, at: 0 }) {
        let before = out.len();
        if before > 0 {
            out.push(' ');
        }
        let start = out.len();
        fold(&text[range], &mut out);
        if out.len() == start {
            out.truncate(before);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use context_core::Role;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text).map(|word| word.folded).collect::<Vec<_>>(), expected, "{text:?}");
    }

    #[test]
    fn words_are_cut_and_folded() {
        check("Two tickets, please!", &["two", "tickets", "please"]);
        check("what's foo:bar a-b x_y", &["what", "s", "foo", "bar", "a", "b", "x", "y"]);
        check(
            "Café CAFÉ ｃａｆｅ Straße ὈΔΥΣΣΕΎΣ",
            &["cafe", "cafe", "cafe", "strasse", "οδυσσευσ"],
        );
        check("北京 東京タワー", &["北", "京", "東", "京", "タ", "ワ", "ー"]);
        check("ไปไหน", &["ไ", "ป", "ไ", "ห", "น"]);
        let korean = ["서울", "여행"].map(nfkd);
        check("서울 여행", &korean.each_ref().map(String::as_str));
        check("नमस्ते दुनिया", &["नमस्ते", "दुनिया"]);
        check("3.14 ½ ①", &["3", "14", "1⁄2", "1"]);
        check("foo\u{202c} so\u{ad}ft \u{200f}bar", &["foo", "soft", "bar"]);
        check("ship it 🚀🎉", &["ship", "it", "🚀", "🎉"]);
        check(" \n\t…", &[]);
        let long = "x".repeat(100_000);
        assert_eq!(
            words(&long).next().map(|word| (word.range.len(), word.folded.len())),
            Some((100_000, 64))
        );
    }

    fn nfkd(word: &str) -> String {
        unicode_normalization::UnicodeNormalization::nfkd(word).collect()
    }

    proptest! {
        #[test]
        fn what_is_indexed_is_cut_only_at_its_spaces(text in "\\PC{0,40}") {
            let indexed = index_text(&Message::text(Role::User, text.clone()));
            let expected: Vec<_> = words(&text).map(|word| word.folded).collect();
            prop_assert_eq!(indexed.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>(),
                expected);
            prop_assert!(indexed.chars().all(|c| c == ' ' || !c.is_ascii()
                || c.is_ascii_alphanumeric()));
        }
    }
}
