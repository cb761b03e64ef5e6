//! Ranking: how well a memory answers a question, by the BM25 scores of a store refined by a look
//! at each record.
//!
//! A record is a message, often of many sentences, of which one is the answer. The score therefore
//! combines the BM25 of the record with the score of its best sentence, which is higher if the
//! sentence has what the question asks for: an amount, a time, a name. The named speaker,
//! neighbouring records, the time of the record, and abbreviated names add to the score. With
//! vectors, the orders by words and by meaning are fused by rank. This module reads no store and
//! calls no model.
//!
//! Without vectors there is no matching by meaning: `physician` does not find `doctor`.

mod cues;
mod diverse;
mod fuse;
mod question;
mod score;
mod sentences;
mod times;

pub(crate) use diverse::distinct;
pub(crate) use fuse::fuse;
pub(crate) use question::Question;
pub(crate) use score::{Candidate, score};
