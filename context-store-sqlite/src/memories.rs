//! Memory records, found by words and vectors.

mod erase;
mod find;
mod forget;
mod put;
mod read;
mod remove;
mod rows;
mod scopes;
mod terms;
mod vectors;
mod word_list;
mod write;

pub(crate) use self::erase::{erase_some, remaining, tidy};
pub(crate) use self::find::find;
pub(crate) use self::forget::forget;
pub(crate) use self::read::{by_id, list, neighbours, stats};
pub(crate) use self::rows::{body, json_answer, stored_of};
pub(crate) use self::word_list::{WordList, sum_of, token};
pub(crate) use self::write::write;
