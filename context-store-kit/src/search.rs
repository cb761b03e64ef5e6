//! What full-text search means, the same in every store.
//!
//! # Words
//!
//! A word is a run of letters, digits and marks. Scripts that put no spaces between words (Han,
//! Hiragana, Katakana, Thai, Lao, Khmer, Burmese) are cut into single characters, and so are
//! pictographs; a query of several such characters finds them only next to each other, so it finds
//! exactly the texts that contain it, wherever a dictionary would have cut. Words are compared
//! folded: without case, without accents (U+0300–U+036F) and in one form for each character (NFKD),
//! so that `Café`, `CAFE` and `ｃａｆｅ` are one word.
//!
//! # Queries
//!
//! What stands between spaces is a [`Phrase`]: usually one word, several where punctuation or
//! script cuts it (`foo:bar`, `what's`, `北京`); those must follow each other in the text. All
//! phrases must be there. No character has a meaning of its own.
//!
//! A store with an index keeps [`index_text`] and asks it for the words of [`Terms`]; one without
//! scans with [`Terms::count`] and [`Ranking`]. Both cut snippets with [`Terms::snippet`].

mod fold;
mod rank;
mod snippet;
mod tag;
mod terms;
mod words;

pub use rank::Ranking;
pub use tag::UserTag;
pub use terms::{Count, Phrase, Terms};
pub use words::{Word, index_text, words};
