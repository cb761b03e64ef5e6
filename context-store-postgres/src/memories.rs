//! Memory records: writing, finding by words and vectors, forgetting.

pub(crate) mod add;
pub(crate) mod candidates;
pub(crate) mod find;
pub(crate) mod forget;
pub(crate) mod pgvector;
pub(crate) mod read;
pub(crate) mod rows;
pub(crate) mod vectors;
pub(crate) mod words;
pub(crate) mod write;
