//! The Redis store of the context layer: one script per commit, one slot per chat.

mod append;
mod branches;
mod change;
mod chats;
mod check;
mod commit;
mod config;
mod connection;
mod erase;
mod error;
mod fields;
mod fragments;
mod keys;
mod listing;
mod look;
mod messages;
mod read;
mod reply;
mod runs;
mod scripts;
mod server;
mod shape;
mod shared;
mod store;

pub use config::RedisConfig;
pub use store::RedisStore;
