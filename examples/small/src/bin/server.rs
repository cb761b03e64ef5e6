//! A server. `POST /chats/{chat}/turns` asks a question, and answers with the events of the turn as
//! they happen; `GET /chats/{chat}` returns the history. A client that goes away cancels its turn.
//!
//! ```text
//! cargo run --bin server -- 127.0.0.1:3000
//! curl -N http://127.0.0.1:3000/chats/lisbon/turns -d 'When is the next tram?'
//! ```

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use context_runtime::model::ModelRequest;
use context_runtime::{Agents, CancelSource, ContextEngine, Error, ErrorKind, Role, tools};
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use small::{AnswerPiece, call, model, text};
use tokio::{net::TcpListener, signal::ctrl_c, sync::mpsc};
use tokio_util::task::TaskTracker;

const USER: &str = "ada"; // a real server knows its users by their login

#[derive(Clone)]
pub struct Server {
    pub agents: Agents,
    pub turns: TaskTracker, // those that run
}

pub fn routes(server: Server) -> Router {
    let router = Router::new().route("/chats/{chat}", get(history));
    router.route("/chats/{chat}/turns", post(ask)).with_state(server)
}

async fn history(server: State<Server>, chat: Path<String>) -> Result<Json<Vec<Value>>, Failure> {
    let engine = ContextEngine::builder(server.agents.store().clone()).existing();
    let mut engine = engine.user(USER).chat(&**chat).open().await?;
    let messages = engine.resolve().await?.messages;
    let shown = messages.iter().map(|node| {
        let message = node.message()?;
        Ok(json!({"id": node.id, "role": message.role, "text": message.plain_text()}))
    });
    Ok(Json(shown.collect::<Result<_, Error>>()?))
}

async fn ask(server: State<Server>, chat: Path<String>, ask: String) -> Result<Response, Failure> {
    let mut chat = server.agents.chat(USER, &**chat).await?;
    let (sender, mut events) = mpsc::unbounded_channel::<Result<Event, Failure>>();
    let (source, deltas) = (CancelSource::new(), sender.clone());
    let cancel = source.signal();
    let source = CancelOnDrop(source); // with the response, which a lost connection drops
    server.turns.spawn(async move {
        let turn = chat.ask(ask).tools(tools![next_tram]).cancel(cancel);
        let turn = turn.on_delta(|delta| drop(deltas.send(Ok(event("delta", delta)))));
        let end = turn.await.map_err(Failure::from).map(|answer| {
            let (usage, usd) = (answer.report.usage, answer.report.cost_usd);
            event("end", json!({"id": answer.id, "usage": usage, "usd": usd}))
        });
        drop(sender.send(end));
    });
    let first = events.recv().await.transpose()?; // a turn that fails at once is a status
    let rest = stream::unfold((events, source), |(mut events, source)| async {
        let next = events.recv().await?;
        Some((next.unwrap_or_else(|failure| event("error", failure.json())), (events, source)))
    });
    Ok(Sse::new(stream::iter(first).chain(rest).map(Ok::<_, Error>)).into_response())
}

fn event(name: &str, data: impl Serialize) -> Event {
    Event::default().event(name).data(json!(data).to_string())
}

struct CancelOnDrop(CancelSource);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

struct Failure(Error);

impl Failure {
    fn json(&self) -> Value {
        json!({"error": self.0.to_string()})
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = match self.0.kind() {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ErrorKind::Unavailable | ErrorKind::Timeout => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, Json(self.json())).into_response()
    }
}

/// Returns when the next tram of a line leaves.
#[derive(Deserialize, schemars::JsonSchema)]
struct NextTram {
    line: u8,
}

async fn next_tram(NextTram { line }: NextTram) -> String {
    format!("line {line}: 10:05")
}

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
