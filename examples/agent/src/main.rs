//! Runs the tour and prints its steps. Works offline, since the provider is a simulator.
//!
//! ```text
//! cargo run                                                     # SQLite, in agent.db
//! cargo run --features postgres -- postgres://localhost/agents  # the same on PostgreSQL
//! ```
//!
//! The first argument names the store, else `CONTEXT_STORE` does, else it is `sqlite:agent.db`.
//! With `CONTEXT_EXAMPLE_MODEL=claude-sonnet-4-5` and a key in `ANTHROPIC_API_KEY`, or with the
//! model and the key of another vendor, a real model answers.

use std::env;
use std::path::Path;

#[tokio::main]
async fn main() -> context_runtime::Result<()> {
    let named = env::args().nth(1).or_else(|| env::var("CONTEXT_STORE").ok());
    let store = context_runtime::open(named.as_deref().unwrap_or("sqlite:agent.db")).await?;
    let toured =
        agent::tour(store.clone(), Path::new("agent.html"), |line| println!("{line}")).await;
    // Without closing, the log of a SQLite file may stay next to it.
    let closed = store.close().await;
    toured.and(closed)
}
