//! The PostgreSQL store of the context layer.

mod append;
mod branches;
mod chat_rows;
mod chats;
mod check;
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
mod words;

pub use config::PostgresConfig;
pub use store::PostgresStore;
