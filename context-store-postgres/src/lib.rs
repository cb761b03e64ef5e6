//! The PostgreSQL store of the context layer.

mod append;
mod blob_calls;
mod blobs;
mod branches;
mod chat_rows;
mod chats;
mod check;
mod check_beside;
mod check_words;
mod checkpoints;
mod commit;
mod config;
mod erase;
mod error;
mod fragments;
mod listing;
mod messages;
mod place;
mod pool;
mod prune;
mod read;
mod rows;
mod schema;
mod scope;
mod search;
mod sql;
mod store;
mod stream_calls;
mod streams;
mod words;

pub use config::PostgresConfig;
pub use store::PostgresStore;
