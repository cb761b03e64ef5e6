//! Folding of words: case, accents and compatibility forms.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Maximum number of significant characters of a word.
const LONGEST: usize = 64;

/// Appends the folded form of a word to `out`.
pub(super) fn fold(word: &str, out: &mut String) {
    if word.is_ascii() {
        let end = word.len().min(LONGEST);
        out.extend(word.as_bytes()[..end].iter().map(|byte| char::from(byte.to_ascii_lowercase())));
        return;
    }
    let plain = word.nfkd().filter(|c| !is_accent(*c)).flat_map(char::to_lowercase).nfkd();
    for c in plain.filter(|c| keeps(*c)).take(LONGEST) {
        match c {
            'ß' => out.push_str("ss"),
            'ς' => out.push('σ'),
            c => out.push(c),
        }
    }
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Some compatibility forms decompose into spaces and signs. Indexed words contain no separators
/// and no invisible characters.
fn keeps(c: char) -> bool {
    let sign = || !c.is_ascii() && !c.is_whitespace() && !c.is_control();
    !is_accent(c)
        && (c.is_alphanumeric() || is_combining_mark(c) || sign())
        && (c.is_ascii() || c.general_category() != GeneralCategory::Format)
}
