//! The driver of adk-rust's session service for `cargo xtask bench peers`: one event per message,
//! no branches, no fragments.

#![allow(clippy::print_stdout, reason = "a command line program")]

#[path = "../../../../context-runtime/benches/peers/protocol.rs"]
mod protocol;

use std::collections::HashMap;
use std::error::Error;

use adk_core::Content;
use adk_session::{CreateRequest, Event, GetRequest, SessionService, SqliteSessionService};
use protocol::{About, Job, Meter, jobs, skip, text};

const PEER: &str = "adk-rust";
const APP: &str = "bench";
const USER: &str = "user";

type Done = Result<(), Box<dyn Error>>;

fn main() -> Done {
    let folder =
        std::env::args().nth(1).ok_or("a folder is missing: `cargo xtask bench peers` starts this")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(drive(&format!("sqlite:{folder}/sessions.db?mode=rwc")))
}

async fn drive(url: &str) -> Done {
    let service = SqliteSessionService::new(url).await?;
    service.migrate().await?;
    let about = About {
        peer: PEER,
        version: "2.3.0",
        sqlite: sqlx::query_scalar("SELECT sqlite_version()").fetch_one(service.pool()).await?,
        journal_mode: sqlx::query_scalar("PRAGMA journal_mode").fetch_one(service.pool()).await?,
        synchronous: sqlx::query_scalar("PRAGMA synchronous").fetch_one(service.pool()).await?,
    };
    for job in jobs() {
        match job.case.as_str() {
            "append" => {
                let session = fill(&service, &job).await?;
                let meter = Meter::start();
                for i in 0..job.times {
                    service.append_event(&session, event(i)).await?;
                }
                meter.stop(&job, &about);
            }
            "load" => {
                let session = fill(&service, &job).await?;
                let fresh = SqliteSessionService::new(url).await?;
                let meter = Meter::start();
                for _ in 0..job.times {
                    load(&fresh, &session, job.n).await?;
                }
                meter.stop(&job, &about);
            }
            "turn" => {
                let session = fill(&service, &job).await?;
                let meter = Meter::start();
                for i in 0..job.times {
                    service.append_event(&session, event(2 * i)).await?;
                    load(&service, &session, job.n + 1).await?;
                    service.append_event(&session, event(2 * i + 1)).await?;
                }
                meter.stop(&job, &about);
            }
            "fork" => skip(&job, PEER, "sessions have no branches"),
            _ => skip(&job, PEER, "the session service has no prompt"),
        }
    }
    Ok(())
}

/// Returns the session of a job, filled on first use.
async fn fill(service: &SqliteSessionService, job: &Job) -> Result<String, Box<dyn Error>> {
    let id = format!("{}-{}", job.case, job.n);
    if service.get(get(&id)).await.is_err() {
        let (app_name, user_id) = (APP.to_owned(), USER.to_owned());
        let new = CreateRequest { app_name, user_id, session_id: Some(id.clone()),
            state: HashMap::new() };
        service.create(new).await?;
        for i in 0..job.n {
            service.append_event(&id, event(i)).await?;
        }
    }
    Ok(id)
}

async fn load(service: &SqliteSessionService, session: &str, at_least: usize) -> Done {
    let session = service.get(get(session)).await?;
    let read = session.events().len();
    if read < at_least { Err(format!("{read} events instead of {at_least}").into()) } else {
        Ok(()) }
}

fn get(session: &str) -> GetRequest {
    let (app_name, user_id) = (APP.to_owned(), USER.to_owned());
    GetRequest { app_name, user_id, session_id: session.to_owned(), num_recent_events: None,
        after: None }
}

fn event(i: usize) -> Event {
    let (author, role) = if i.is_multiple_of(2) { ("user", "user") } else { ("assistant",
        "model") };
    let mut event = Event::new(format!("turn-{}", i / 2));
    event.author = author.to_owned();
    event.llm_response.content = Some(Content::new(role).with_text(text(i)));
    event
}
