//! The PostgreSQL store of the context layer.

mod chat_rows;
mod chats;
mod config;
mod error;
mod place;
mod pool;
mod rows;
mod schema;
mod scope;
mod sql;

pub use config::PostgresConfig;
