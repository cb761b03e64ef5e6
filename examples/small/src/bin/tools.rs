//! Async functions as tools. Their schemas come from their argument types, and a hook decides about
//! each call before its tool runs.

use context_runtime::{Agents, Approval, Result, ToolCall, role, tools};
use schemars::JsonSchema;
use serde::Deserialize;
use small::{call, model, script, text};

/// Finds trains to a city.
#[derive(Deserialize, JsonSchema)]
struct FindTrains {
    to: String,
    /// The day of the week.
    day: String,
}

/// Books a train, which is paid for at once.
#[derive(Deserialize, JsonSchema)]
struct Book {
    train: String,
}

async fn find_trains(FindTrains { to, day }: FindTrains) -> String {
    format!("{day} to {to}: IC 523 at 10:05, AP 131 at 12:00")
}

// The text of an error is the result that the model reads.
async fn book(Book { train }: Book) -> Result<String, String> {
    Err(format!("{train} is sold out"))
}

/// Lets every tool run but the one that costs money. A real program asks its user.
async fn approve(call: ToolCall) -> Approval {
    println!("  the model calls {} {}", call.name, call.input.as_written());
    match &*call.name {
        "book" => Approval::Refuse("The user wants to see the price first.".to_owned()),
        _ => Approval::Run,
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let model = model(script([
        call("find_trains", serde_json::json!({"to": "Lisbon", "day": "Friday"})),
        call("book", serde_json::json!({"train": "IC 523"})),
        text("IC 523 leaves at 10:05. Shall I look up its price before I book it?"),
    ]))?;
    let agents = Agents::open("mem:").await?.client(model).build()?;
    let mut chat = agents.chat("ada", "lisbon").await?;
    chat.set([role("You book trains.")]);

    let question = "Book me a train to Lisbon on Friday.";
    let answer = chat.ask(question).tools(tools![find_trains, book]).approve(approve).await?;
    println!("{answer}\n{}", answer.report);
    agents.shutdown().await
}
