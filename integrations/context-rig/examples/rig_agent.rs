//! A rig agent whose memory is a store of the context layer: it remembers across programs, its
//! conversation can be searched, and it continues on the branch that a rewind makes. The model is
//! scripted, so it needs no network.
#![allow(clippy::print_stdout, reason = "it shows what happens")]

use std::error::Error;

use context_rig::RigStore;
use context_runtime::ContextEngine;
use context_runtime::store::SearchQuery;
use rig_agent::AgentBuilder;
use rig_core::test_utils::{MockCompletionModel, MockTurn};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "mem:".to_owned());
    let store = context_runtime::open(&url).await?; // sqlite:trips.db, postgres://…, redis://…
    let memory = RigStore::new(store.clone(), "ada");

    let script = ["Window or aisle?", "Booked: two window seats.", "Booked: two aisle seats."];
    let model = MockCompletionModel::from_turns(script.map(MockTurn::text));
    let agent =
        AgentBuilder::new(model.clone()).memory(memory.clone()).conversation("lisbon").build();
    for question in ["Two tickets to Lisbon.", "Window, please."] {
        println!("ada: {question}\nagent: {}", agent.prompt(question).await?);
    }

    let search = store.search().ok_or("this store does not search")?;
    let hits = search.search(&SearchQuery::new("ada", "window seats")).await?;
    println!("found: {} message", hits.items.len());

    // Back to the question of the agent. The first booking stays, on its own branch.
    let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
    let turn = chat.resolve().await?;
    let branch = chat.rewind(&turn.messages[1].id).await?.branch;
    println!("back on: {branch}");
    println!("ada: Aisle!\nagent: {}", agent.prompt("Aisle!").await?);

    let sent: Vec<usize> = model.requests().iter().map(|r| r.chat_history.len()).collect();
    println!("messages in each request: {sent:?}");
    Ok(())
}
