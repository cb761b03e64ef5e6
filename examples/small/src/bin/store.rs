//! A store by URL: run the program twice, and the second run continues the chat.
//!
//! ```text
//! cargo run --bin store                                                     # sqlite:trips.db
//! cargo run --features postgres --bin store -- postgres://localhost/agents  # one feature, one URL
//! ```

use std::env;

use context_runtime::{Agents, Result, role};
use small::{model, script, text};

#[tokio::main]
async fn main() -> Result<()> {
    let url = env::args().nth(1).unwrap_or_else(|| "sqlite:trips.db".to_owned());
    let model = model(script([text("I wrote it down.")]))?;
    let agents = Agents::open(&url).await?.client(model).build()?;
    let mut chat = agents.chat("ada", "lisbon").await?;
    // Fragments are set by each run, unless they are `persisted`. Messages are stored.
    chat.set([role("You keep notes.")]);

    let stored = chat.engine_mut().resolve().await?.messages.len();
    println!("{}: {stored} messages are stored", agents.store().info().name);
    let answer = chat.ask(format!("Remember the number {stored}.")).await?;
    println!("{answer}");
    agents.shutdown().await
}
