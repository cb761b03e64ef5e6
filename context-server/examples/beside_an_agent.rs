//! The inspector inside a program's own web server, beside the agent that runs there.
//!
//! ```text
//! cargo run -p context-layer-server --example beside_an_agent
//! ```
//!
//! answers a question with a simulated model, prints the address of the page that shows it, and
//! serves the page until Ctrl-C. A program of yours names a model and has a store that lasts:
//! `Agents::open("sqlite:trips.db").await?.model("claude-sonnet-4-5").build()?`.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use context_runtime::model::ModelRequest;
use context_runtime::tokens::ModelCounter;
use context_runtime::{Agents, provider, role};
use context_server::{Operations, router};
use context_simulator::{AnswerPiece, Simulator};
use tokio::net::TcpListener;

const MODEL: &str = "claude-sonnet-4-5";

/// Returns agents whose model is simulated.
async fn agents() -> Result<Agents, Box<dyn Error>> {
    let answers = |_: &ModelRequest| vec![AnswerPiece::text("There is a train at 10:05.")];
    let counter = Arc::new(ModelCounter::for_model(MODEL));
    let model = Simulator::new(provider("anthropic")?, counter).model(MODEL).behaviour(answers);
    Ok(Agents::open("mem:").await?.client(Arc::new(model)).build()?)
}

/// Returns the program's own addresses, with the inspector below one of them.
fn application(agents: &Agents) -> Router {
    Router::new()
        .route("/", get(async || "the program's own page"))
        .nest("/inspector", router(Operations::from(agents).user("ada")))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let agents = agents().await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/inspector/chats/lisbon", listener.local_addr()?);
    let server = axum::serve(listener, application(&agents)).into_future();
    tokio::spawn(server);

    // The page shows each message as it is stored.
    let mut chat = agents.chat("ada", "lisbon").await?;
    chat.set([role("You book trips.")]);
    println!("{}", chat.ask("When is the next train to Lisbon?").await?.text());
    tokio::signal::ctrl_c().await?;
    Ok(agents.shutdown().await?)
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn the_page_shows_what_the_agent_was_asked() -> Result<(), Box<dyn Error>> {
        let agents = agents().await?;
        let mut chat = agents.chat("ada", "lisbon").await?;
        let _answer = chat.ask("When is the next train?").await?;
        let pages = [("/", "own page"), ("/inspector/chats/lisbon", "There is a train at 10:05.")];
        for (path, text) in pages {
            let request = Request::get(path).header("host", "localhost").body(Body::empty())?;
            let answer = application(&agents).oneshot(request).await?;
            let body = to_bytes(answer.into_body(), usize::MAX).await?;
            assert!(String::from_utf8_lossy(&body).contains(text), "{path}");
        }
        Ok(())
    }
}
