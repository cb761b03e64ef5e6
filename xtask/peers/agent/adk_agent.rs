//! The agent of the table in docs/peers.md, with adk-rust.

use std::collections::HashMap;
use std::io::Write;

use adk_rust::futures::StreamExt;
use adk_rust::prelude::*;
use adk_rust::session::{CreateRequest, GetRequest, SessionService, SqliteSessionService};
use adk_tool::tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Day {
    day: String,
}

#[derive(Deserialize, JsonSchema)]
struct What {
    what: String,
}

/// Finds trains to Lisbon.
#[tool]
async fn find_trains(wanted: Day) -> Result<Value> {
    Ok(json!(format!("{}: 10:05", wanted.day)))
}

/// Finds rooms in Lisbon.
#[tool]
async fn find_rooms(wanted: Day) -> Result<Value> {
    Ok(json!(format!("{}: two rooms", wanted.day)))
}

/// Books a train or a room.
#[tool]
async fn book(wanted: What) -> Result<Value> {
    Ok(json!(format!("booked: {}", wanted.what)))
}

// the agent
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let key = std::env::var("ANTHROPIC_API_KEY")?;
    let model = AnthropicClient::new(AnthropicConfig::new(key, "claude-sonnet-4-5"))?;
    let agent = LlmAgentBuilder::new("trips")
        .instruction("You book trips. Ask before you pay.")
        .model(Arc::new(model))
        .tool(Arc::new(FindTrains))
        .tool(Arc::new(FindRooms))
        .tool(Arc::new(Book))
        .build()?;
    let sessions = Arc::new(SqliteSessionService::new("sqlite:trips.db?mode=rwc").await?);
    sessions.migrate().await?;
    let (app_name, user_id, session_id) = ("trips", "ada", "lisbon");
    let known = GetRequest {
        app_name: app_name.into(),
        user_id: user_id.into(),
        session_id: session_id.into(),
        num_recent_events: None,
        after: None,
    };
    if sessions.get(known).await.is_err() {
        let new = CreateRequest {
            app_name: app_name.into(),
            user_id: user_id.into(),
            session_id: Some(session_id.into()),
            state: HashMap::new(),
        };
        sessions.create(new).await?;
    }
    let runner = Runner::builder()
        .app_name(app_name)
        .agent(Arc::new(agent))
        .session_service(sessions)
        .build()?;
    let question = Content::new("user").with_text("Two tickets to Lisbon on Friday, please.");
    let mut events = runner.run_str(user_id, session_id, question).await?;
    while let Some(event) = events.next().await {
        let event = event?;
        for part in event.llm_response.content.iter().flat_map(|content| &content.parts) {
            if let (Part::Text { text }, true) = (part, event.llm_response.partial) {
                print!("{text}");
                std::io::stdout().flush()?;
            }
        }
        if let Some(usage) = &event.llm_response.usage_metadata {
            println!("\n{usage:?}");
        }
    }
    Ok(())
}
