//! The agent of the table in docs/peers.md, with this library.

use context_runtime::{Agents, Result, role, tools};
use schemars::JsonSchema;
use serde::Deserialize;

/// Finds trains to Lisbon.
#[derive(Deserialize, JsonSchema)]
struct FindTrains {
    day: String,
}

/// Finds rooms in Lisbon.
#[derive(Deserialize, JsonSchema)]
struct FindRooms {
    day: String,
}

/// Books a train or a room.
#[derive(Deserialize, JsonSchema)]
struct Book {
    what: String,
}

async fn find_trains(wanted: FindTrains) -> String {
    format!("{}: 10:05", wanted.day)
}

async fn find_rooms(wanted: FindRooms) -> String {
    format!("{}: two rooms", wanted.day)
}

async fn book(wanted: Book) -> String {
    format!("booked: {}", wanted.what)
}

// the agent
#[tokio::main]
async fn main() -> Result<()> {
    let agents = Agents::open("sqlite:trips.db").await?.model("claude-sonnet-4-5").build()?;
    let mut chat = agents.chat("ada", "lisbon").await?;
    chat.set([role("You book trips. Ask before you pay.")]);
    let answer = chat
        .ask("Two tickets to Lisbon on Friday, please.")
        .tools(tools![find_trains, find_rooms, book])
        .on_text(|piece| print!("{piece}"))
        .await?;
    println!("\n{}", answer.report);
    agents.shutdown().await
}
