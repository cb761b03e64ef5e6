//! The semantics of full-text search, the same in every store.
//!
//! # Words
//!
//! A word is a run of letters, digits and marks. Scripts without spaces between words (Han,
//! Hiragana, Katakana, Thai, Lao, Khmer, Burmese) are split into single characters, and so are
//! pictographs. A query of several such characters matches only where they are adjacent, so it
//! finds exactly the texts that contain it, independent of a dictionary. Words are compared in
//! folded form: without case, without accents (U+0300–U+036F) and in one form for each character
//! (NFKD), so that `Café`, `CAFE` and `ｃａｆｅ` are equal.
//!
//! # Queries
//!
//! Text between spaces is a [`Phrase`]: usually one word, or several if punctuation or script
//! splits it (`foo:bar`, `what's`, `北京`). The words of a phrase must be adjacent in the text, and
//! all phrases must be present. No character has a special meaning.
//!
//! A store with an index stores [`index_text`] and queries it for the words of [`Terms`]. A store
//! without one scans with [`Terms::count`] and [`Ranking`]. Both cut snippets with
//! [`Terms::snippet`].

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
