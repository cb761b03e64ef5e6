//! An ADK agent whose sessions are in a store of the context layer: its events can be searched, its
//! state has scopes, and a rewind keeps what it leaves. The agent is scripted, so it needs no
//! network.
#![allow(clippy::print_stdout, reason = "it shows what happens")]

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use adk_core::{Agent, Content, Event, EventStream, InvocationContext, SessionId, UserId};
use adk_runner::Runner;
use adk_session::{CreateRequest, SessionService};
use async_trait::async_trait;
use context_adk::AdkSessions;
use context_runtime::store::SearchQuery;
use futures_util::{StreamExt, stream};

/// An agent that books what it is asked for.
struct Booking;

#[async_trait]
impl Agent for Booking {
    fn name(&self) -> &str {
        "booking"
    }

    fn description(&self) -> &str {
        "Books trips"
    }

    fn sub_agents(&self) -> &[Arc<dyn Agent>] {
        &[]
    }

    async fn run(&self, ctx: Arc<dyn InvocationContext>) -> adk_core::Result<EventStream> {
        let wish: String = ctx.user_content().parts.iter().filter_map(|part| part.text()).collect();
        let mut event = Event::new(ctx.invocation_id());
        event.author = self.name().to_owned();
        event.llm_response.content =
            Some(Content::new("model").with_text(format!("Booked: {wish}")));
        event.actions.state_delta.insert("user:last".to_owned(), wish.into());
        Ok(Box::pin(stream::iter([Ok(event)])))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "mem:".to_owned());
    let store = context_runtime::open(&url).await?; // sqlite:trips.db, postgres://…, redis://…
    let sessions = Arc::new(AdkSessions::new(store.clone()));
    let new = CreateRequest {
        app_name: "trips".to_owned(),
        user_id: "ada".to_owned(),
        session_id: Some("lisbon".to_owned()),
        state: HashMap::new(),
    };
    sessions.create(new).await?;

    let runner = Runner::builder()
        .app_name("trips")
        .agent(Arc::new(Booking))
        .session_service(sessions.clone())
        .build()?;
    for wish in ["two window seats", "two aisle seats"] {
        let (user, session) = (UserId::try_from("ada")?, SessionId::try_from("lisbon")?);
        let mut events = runner.run(user, session, Content::new("user").with_text(wish)).await?;
        while let Some(event) = events.next().await {
            let content = event?.llm_response.content;
            let parts = content.iter().flat_map(|content| &content.parts);
            println!("agent: {}", parts.filter_map(|part| part.text()).collect::<String>());
        }
    }

    let search = store.search().ok_or("this store does not search")?;
    let hits = search.search(&SearchQuery::new("ada", "booked window")).await?;
    println!("found: {} message", hits.items.len());

    let session = sessions.rewind_steps("lisbon", 2).await?;
    println!("after the rewind: {} events", session.events().len());
    println!("the user's state stays: {:?}", session.state().get("user:last"));
    println!(
        "branches: {}",
        store.history().branches(&("ada", "trips/lisbon").into()).await?.len()
    );
    Ok(())
}
