//! The Redis store of the context layer: one script per commit, one slot per chat.
#![allow(dead_code)]

mod config;
mod connection;
mod error;
mod keys;
mod store;

pub use config::RedisConfig;
pub use store::RedisStore;
