//! Ranking: how well a memory answers a question, by the BM25 scores of a store refined by a look
//! at each record.
//!
//! A record is a message, often of many sentences, of which one is the answer. The score therefore
//! combines the BM25 of the record with the score of its best sentence, which is higher if the
//! sentence has what the question asks for: an amount, a time, a name. A word of the question also
//! matches, with less weight, by words that are related to it. Who speaks and whether of
//! themselves, the records beside it, the time of the record, and abbreviated names add to the
//! score; a record that asks counts less. Vectors add how near they are. This module reads no store
//! and calls no model.

mod cues;
mod diverse;
mod fuse;
mod question;
mod related;
mod score;
mod sentences;
mod text;
mod times;

pub(crate) use diverse::distinct;
pub(crate) use fuse::fuse;
pub(crate) use question::Question;
pub(crate) use score::{Candidate, Scorer};
