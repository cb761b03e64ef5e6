//! Detection of the long unbroken runs of a text, on which tokenizers are slow.
//!
//! A tokenizer first splits a text into pieces (words, numbers, punctuation, white space) and then
//! merges the bytes of each piece. The usual merging is fast on short pieces and slow on long ones,
//! and a text may be a single piece: a letter a million times, Chinese without punctuation, a rule
//! of dashes. So a text goes to the library as a whole, except for the neighbourhood of such runs,
//! which is split here and merged by [`Merger`].
//!
//! Counts stay exact: texts are only cut where no piece can span the cut.

use std::collections::HashMap;

use regex::{Regex, RegexBuilder};

use super::Vocabulary;
use super::merge::{Memo, Merger, Scratch, WINDOW};

/// The number of consecutive bytes of one class that make a possible run. A run of twice as many
/// always covers a block.
const BLOCK: usize = 16;
/// Longer pieces are merged here. The library is fast on shorter ones.
const LONG: usize = 32;
/// Blanks in a row that the library knows as single tokens or keeps in its cache.
const PLAIN_BLANKS: usize = 80;
/// Memory limit for the states of a pattern.
const DFA_BYTES: usize = 16 << 20;
/// Maximum number of different pieces cached while a text is counted.
const MEMO: usize = 4096;

const LETTER: u8 = 1;
const MARK: u8 = 2;
const SPACE: u8 = 4;
/// Bytes that may follow punctuation within its piece.
const TAIL: u8 = 8;

/// The classes that a byte may belong to. A byte of a multi-byte character may belong to any.
static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        table[byte] = if !b.is_ascii() {
            LETTER | MARK | SPACE | TAIL
        } else if b.is_ascii_alphabetic() {
            LETTER
        } else if matches!(b, b'\n' | b'\r') {
            SPACE | TAIL
        } else if matches!(b, b' ' | b'\t' | 0x0b | 0x0c) {
            SPACE
        } else if b == b'/' {
            MARK | TAIL
        } else if b.is_ascii_digit() {
            0
        } else {
            MARK
        };
        byte += 1;
    }
    table
}

/// Splits a text into pieces the way a vocabulary does.
#[derive(Debug)]
pub(super) struct Splitter(Regex);

impl Splitter {
    /// Compiles the published pattern without its one look-ahead, which [`Self::piece`] does.
    pub(super) fn new(vocabulary: Vocabulary) -> Self {
        let pattern = match vocabulary {
            Vocabulary::O200kBase => {
                r"^(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+)"
            }
            Vocabulary::Cl100kBase => {
                r"^(?:(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+)"
            }
        };
        // Random characters lead through many states. Rebuilding them again and again would be most
        // of the work.
        let regex = RegexBuilder::new(pattern).dfa_size_limit(DFA_BYTES).build();
        Self(regex.expect("the pattern is well formed"))
    }

    /// Returns the length of the first piece of a text that is not empty.
    fn piece(&self, text: &str) -> usize {
        let Some(found) = self.0.find(text) else { return text.len() };
        let piece = found.as_str();
        // White space before other text leaves its last character to that text. Only a piece of
        // white space ends with a blank.
        let last =
            piece.chars().next_back().filter(|c| c.is_whitespace() && !matches!(c, '\n' | '\r'));
        match last {
            Some(last) if found.end() < text.len() && piece.len() > last.len_utf8() => {
                piece.len() - last.len_utf8()
            }
            _ => piece.len(),
        }
    }
}

/// Counts a text: `fast` counts the parts without long runs, the merger the rest.
pub(super) fn count<'m>(
    text: &str,
    splitter: &Splitter,
    fast: impl Fn(&str) -> usize,
    merger: impl Fn() -> &'m Merger,
) -> usize {
    let (mut total, mut from, mut at) = (0, 0, 0);
    let mut counter = None;
    while let Some(run) = next_run(text.as_bytes(), at) {
        let start = from + cut_before(&text[from..run]);
        let end = run + cut_behind(&text.as_bytes()[run..]);
        total += fast(&text[from..start]);
        let counter = counter.get_or_insert_with(|| LongPieceCounter::new(merger()));
        total += counter.count(&text[start..end], splitter, &fast);
        (from, at) = (end, end);
    }
    total + fast(&text[from..])
}

/// Returns the start of the next block whose bytes may all belong to one piece.
fn next_run(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        // To the end of the block, because no processor foresees where the classes differ.
        let common = block.iter().fold(u8::MAX, |all, byte| all & CLASSES[usize::from(*byte)]);
        if common == SPACE && block[0] == b' ' {
            // Indentation is not a run, unless it is very deep.
            let blanks = bytes[at..].iter().take_while(|byte| **byte == b' ').count();
            if (BLOCK..=PLAIN_BLANKS).contains(&blanks) {
                at += blanks;
                continue;
            }
        }
        if common != 0 {
            // A character must not be split.
            let mut start = at;
            while start > from && bytes[start] & 0xc0 == 0x80 {
                start -= 1;
            }
            return Some(start);
        }
        at += BLOCK;
    }
    None
}

/// Returns the last position that no piece spans: before a blank that follows another character.
/// The pieces up to that position are the same whatever follows.
fn cut_before(text: &str) -> usize {
    let mut end = text.len();
    while let Some(at) = text[..end].rfind(' ') {
        if text[..at].chars().next_back().is_some_and(|c| !c.is_whitespace()) {
            return at;
        }
        end = at;
    }
    0
}

/// Returns the first position that no piece spans. Before the blank only ASCII is recognized, which
/// suffices.
fn cut_behind(bytes: &[u8]) -> usize {
    let blank = bytes.windows(2).position(|pair| {
        pair[1] == b' ' && pair[0].is_ascii() && CLASSES[usize::from(pair[0])] & SPACE == 0
    });
    blank.map_or(bytes.len(), |at| at + 1)
}

/// A counter for texts with long pieces. Its buffers and caches last while one text is counted.
struct LongPieceCounter<'m> {
    merger: &'m Merger,
    scratch: Scratch,
    windows: Memo,
    pieces: HashMap<Box<str>, usize>,
}

impl<'m> LongPieceCounter<'m> {
    fn new(merger: &'m Merger) -> Self {
        Self {
            merger,
            scratch: Scratch::default(),
            windows: Memo::default(),
            pieces: HashMap::new(),
        }
    }

    fn count(&mut self, text: &str, splitter: &Splitter, fast: impl Fn(&str) -> usize) -> usize {
        let (mut total, mut from, mut at) = (0, 0, 0);
        let mut blank_before = false;
        while at < text.len() {
            let end = at + splitter.piece(&text[at..]);
            let piece = &text[at..end];
            // Two adjacent pieces of white space would be one if nothing followed, so they are
            // counted separately.
            let blank = piece.chars().next_back().is_some_and(char::is_whitespace)
                && piece.starts_with(char::is_whitespace);
            // The library is slow on characters that are not in everyday use.
            if piece.len() > LONG || !piece.is_ascii() || (blank && blank_before) {
                total += fast(&text[from..at]) + self.piece(piece);
                from = end;
            }
            blank_before = blank;
            at = end;
        }
        total + fast(&text[from..])
    }

    fn piece(&mut self, piece: &str) -> usize {
        // Windows of longer pieces are cached separately.
        if piece.len() > WINDOW {
            self.windows.clear();
            return self.merger.count(piece.as_bytes(), &mut self.scratch, &mut self.windows);
        }
        if piece.len() <= LONG {
            return self.merger.count(piece.as_bytes(), &mut self.scratch, &mut self.windows);
        }
        if let Some(count) = self.pieces.get(piece) {
            return *count;
        }
        let count = self.merger.count(piece.as_bytes(), &mut self.scratch, &mut self.windows);
        if self.pieces.len() < MEMO {
            self.pieces.insert(piece.into(), count);
        }
        count
    }
}
