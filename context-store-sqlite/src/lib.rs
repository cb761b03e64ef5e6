//! The SQLite store of the context layer.

mod append;
mod chats;
mod check;
mod commit;
mod config;
mod connections;
mod error;
mod fragments;
mod messages;
mod place;
mod read;
mod schema;
mod sql;
mod store;

pub use config::SqliteConfig;
pub use store::SqliteStore;
