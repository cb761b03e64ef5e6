//! A server. `POST /chats/{chat}/turns` asks a question, and answers with the events of the turn as
//! they happen; `GET /chats/{chat}` returns the history. A client that goes away cancels its turn.
//!
//! ```text
//! cargo run --bin server -- 127.0.0.1:3000
//! curl -N http://127.0.0.1:3000/chats/lisbon/turns -d 'When is the next tram?'
//! ```

mod reply;
mod routes;
mod turns;

use context_runtime::model::ModelRequest;
use context_runtime::{Agents, Role};
use serde_json::json;
use small::{AnswerPiece, call, model, text};
use tokio::{net::TcpListener, signal::ctrl_c};
use tokio_util::task::TaskTracker;

use routes::{Server, routes};

/// The simulated model, which answers every question in the same way.
fn answer(request: &ModelRequest) -> Vec<AnswerPiece> {
    match request.messages.last().map(|message| message.role) {
        Some(Role::Tool) => text("The next tram of line 28 leaves at 10:05."),
        _ => call("next_tram", json!({"line": 28})),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let agents = Agents::open("mem:").await?.client(model(answer)?).build()?;
    let server = Server { agents, turns: TaskTracker::new() };
    let listener = TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let stopped = async { ctrl_c().await.unwrap_or_default() };
    axum::serve(listener, routes(server.clone())).with_graceful_shutdown(stopped).await?;
    server.turns.close();
    server.turns.wait().await; // turns whose clients are gone end too
    Ok(server.agents.shutdown().await?)
}
