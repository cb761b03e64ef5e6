//! Random damage to documents: corrupted bytes for tests of parsers.
//!
//! ```
//! use context_conformance::damage::damaged;
//! use proptest::prelude::*;
//!
//! proptest!(|(bytes in damaged(vec![b"{\"a\":1}".to_vec()]))| {
//!     // A parser may accept or refuse the bytes, but must not panic.
//!     let _ = serde_json::from_slice::<serde_json::Value>(&bytes);
//! });
//! ```

use proptest::prelude::*;

/// Pieces that parsers take for the end of something, that are too large or too deep, or that are
/// not text.
const PIECES: [&[u8]; 24] = [
    b"",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"null",
    b"-1",
    b"1e400",
    b"18446744073709551616",
    b"NaN",
    b"\\ud800",
    b"---",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"{\"\":{\"\":{\"\":{\"\":{\"\":{\"\":",
];

/// A change of a document. Positions are fractions of its length in 1/65536.
#[derive(Clone, Debug)]
enum Damage {
    /// The document ends early.
    Cut(u16),
    /// One byte is replaced.
    Byte(u16, u8),
    /// A stretch is replaced by a piece.
    Put(u16, u8, &'static [u8]),
    /// A stretch is copied to another position.
    Copy(u16, u16, u8),
    /// Two lines are swapped.
    Swap(u16, u16),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<u16>().prop_map(Damage::Cut),
        (any::<u16>(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        (any::<u16>(), 0..12_u8, prop::sample::select(PIECES.to_vec()))
            .prop_map(|(at, length, piece)| Damage::Put(at, length, piece)),
        (any::<u16>(), any::<u16>(), any::<u8>())
            .prop_map(|(from, to, length)| Damage::Copy(from, to, length)),
        (any::<u16>(), any::<u16>()).prop_map(|(a, b)| Damage::Swap(a, b)),
    ]
}

/// Generates one of the documents with up to eight damages.
pub fn damaged(documents: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let document = prop::sample::select(documents);
    (document, prop::collection::vec(damage(), 0..=8)).prop_map(|(document, damages)| {
        damages.into_iter().fold(document, |bytes, damage| damage.apply(bytes))
    })
}

impl Damage {
    fn apply(self, mut bytes: Vec<u8>) -> Vec<u8> {
        let place = |at: u16, length: usize| (usize::from(at) * (length + 1)) >> 16;
        match self {
            Self::Cut(at) => bytes.truncate(place(at, bytes.len())),
            Self::Byte(at, byte) => {
                let at = place(at, bytes.len());
                if let Some(there) = bytes.get_mut(at) {
                    *there = byte;
                }
            }
            Self::Put(at, length, piece) => {
                let from = place(at, bytes.len());
                let to = (from + usize::from(length)).min(bytes.len());
                bytes.splice(from..to, piece.iter().copied());
            }
            Self::Copy(from, to, length) => {
                let (from, to) = (place(from, bytes.len()), place(to, bytes.len()));
                let end = (from + usize::from(length)).min(bytes.len());
                let piece = bytes[from..end].to_vec();
                bytes.splice(to..to, piece);
            }
            Self::Swap(a, b) => {
                let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
                if !lines.is_empty() {
                    let last = lines.len() - 1;
                    lines.swap(place(a, last), place(b, last));
                }
                bytes = lines.concat();
            }
        }
        bytes
    }
}
