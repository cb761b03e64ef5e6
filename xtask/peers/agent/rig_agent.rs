//! The agent of the table in docs/peers.md, with rig.

use rig::agent::stream_to_stdout;
use rig::memory::InMemoryConversationMemory;
use rig::prelude::*;
use rig::providers::anthropic::{self, Anthropic};
use rig::rig_tool;
use rig::tool::ToolExecutionError;

/// Finds trains to Lisbon.
#[rig_tool]
fn find_trains(day: String) -> Result<String, ToolExecutionError> {
    Ok(format!("{day}: 10:05"))
}

/// Finds rooms in Lisbon.
#[rig_tool]
fn find_rooms(day: String) -> Result<String, ToolExecutionError> {
    Ok(format!("{day}: two rooms"))
}

/// Books a train or a room.
#[rig_tool]
fn book(what: String) -> Result<String, ToolExecutionError> {
    Ok(format!("booked: {what}"))
}

// the agent
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let model = Anthropic::from_env()?.completion(anthropic::CLAUDE_SONNET_5);
    let agent = AgentBuilder::new(model)
        .preamble("You book trips. Ask before you pay.")
        .tool(FindTrains)
        .tool(FindRooms)
        .tool(Book)
        .memory(InMemoryConversationMemory::new())
        .default_max_turns(10)
        .build();
    let question = "Two tickets to Lisbon on Friday, please.";
    let mut stream = agent.prompt(question).conversation("lisbon").stream();
    let response = stream_to_stdout(&mut stream).await?;
    println!("\n{:?}", response.usage());
    Ok(())
}
