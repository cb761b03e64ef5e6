//! How well a memory answers a question: what a store's BM25 says of whole records, made finer by
//! looking at them.
//!
//! A record is a turn, often of many sentences, and its answer is one of them. So a record is as
//! good as its words are rare and many (BM25 of the record), and as good as its best sentence, the
//! better if that has what the question asks for: an amount, a time, a name. Who is named as the
//! speaker, what is said next to it, when it was said, and names that are written short count
//! beside that. Where there are vectors, the two orders are fused by rank. Nothing here reads a
//! store or calls a model.
//!
//! It knows no meaning: `physician` does not find `doctor`, unless vectors do.

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
