//! The characters of which tokens consist, and the runs of them in a text.

use std::cell::Cell;

/// A set of ASCII characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alphabet {
    /// Capital letters and digits.
    Upper,
    /// Hexadecimal digits.
    Hex,
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `_`.
    Word,
    /// Letters, digits, `_`, `-`.
    Url,
    /// Letters, digits, `_`, `-`, `.`.
    Dotted,
    /// Letters, digits, `+`, `/`, `=`.
    Base64,
    /// Every character of a token: those of all other sets, and `~`, `%`, `:`, `,`.
    Token,
    /// Letters, digits, `_`, `-`, `/`.
    Path,
    /// Letters, digits, `+`, `/`, `=`, `%`.
    Escaped,
    /// Whatever does not delimit an unquoted value. The bytes of other characters than ASCII are
    /// included, so a run ends between two characters.
    Value,
}

impl Alphabet {
    pub(crate) fn has(self, byte: u8) -> bool {
        let alnum = byte.is_ascii_alphanumeric();
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Alnum => alnum,
            Self::Word => alnum || byte == b'_',
            Self::Url => alnum || matches!(byte, b'_' | b'-'),
            Self::Dotted => alnum || matches!(byte, b'_' | b'-' | b'.'),
            Self::Base64 => alnum || matches!(byte, b'+' | b'/' | b'='),
            Self::Token => {
                alnum
                    || matches!(
                        byte,
                        b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'~' | b'%' | b':' | b','
                    )
            }
            Self::Path => alnum || matches!(byte, b'_' | b'-' | b'/'),
            Self::Escaped => alnum || matches!(byte, b'+' | b'/' | b'=' | b'%'),
            Self::Value => {
                !byte.is_ascii_whitespace()
                    && !byte.is_ascii_control()
                    && !b"\"'`,;&<>(){}[]|\\".contains(&byte)
            }
        }
    }

    /// Returns the length of the run of these characters at the end of the text, at most `limit`.
    pub(crate) fn run_back(self, text: &[u8], limit: usize) -> usize {
        let bytes = text.iter().rev().take(limit);
        bytes.take_while(|byte| self.has(**byte)).count()
    }
}

/// Returns whether a token may start at a byte: no letter or digit precedes it, other than one that
/// belongs to an escape such as `\n` or `%3D`.
fn starts_word(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|i| text[i]) else { return true };
    if !before.is_ascii_alphanumeric() {
        return true;
    }
    let back = |n: usize| at.checked_sub(n).map(|i| text[i]);
    let is_escape = matches!(before, b'n' | b'r' | b't') && back(2) == Some(b'\\');
    let is_percent = back(3) == Some(b'%')
        && before.is_ascii_hexdigit()
        && back(2).is_some_and(|byte| byte.is_ascii_hexdigit());
    is_escape || is_percent
}

/// The number of alphabets.
const ALPHABETS: usize = Alphabet::Value as usize + 1;

/// A text in which secrets are looked for. It remembers the last run of each alphabet, so that
/// looking for the end of a run from each of its positions takes linear time.
pub(crate) struct Scan<'a> {
    pub(crate) text: &'a str,
    /// Whether a secret that is masked already precedes the text.
    pub(crate) follows_mark: bool,
    /// Whether a secret that is masked already follows the text.
    pub(crate) precedes_mark: bool,
    runs: [Cell<(usize, usize)>; ALPHABETS],
}

impl<'a> Scan<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let (follows_mark, precedes_mark) = (false, false);
        Self { text, follows_mark, precedes_mark, runs: [const { Cell::new((0, 0)) }; ALPHABETS] }
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// Returns the end of the run of these characters that starts at a position.
    pub(crate) fn run_end(&self, alphabet: Alphabet, at: usize) -> usize {
        let bytes = self.bytes();
        let (from, end) = self.runs[alphabet as usize].get();
        if (from..end).contains(&at) {
            return end;
        }
        let mut stop = at;
        while bytes.get(stop).is_some_and(|byte| alphabet.has(*byte)) {
            stop += 1;
            // The known run begins here.
            if stop == from && end > from {
                stop = end;
                break;
            }
        }
        self.runs[alphabet as usize].set((at, stop));
        stop
    }

    /// Returns the end of the letters and digits at a position.
    pub(crate) fn word_end(&self, at: usize) -> usize {
        self.run_end(Alphabet::Alnum, at)
    }

    pub(crate) fn starts_word(&self, at: usize) -> bool {
        starts_word(self.bytes(), at)
    }

    pub(crate) fn has_at(&self, at: usize, text: &str) -> bool {
        self.bytes()[at.min(self.text.len())..].starts_with(text.as_bytes())
    }
}
