//! The server over a loopback connection: the program as it is run, and its routes with a model
//! that never ends its answer.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use context_runtime::model::{
    Answer, AnswerDelta, LanguageModel, ModelError, ModelErrorCode, ModelRequest,
};
use context_runtime::trajectory::RoundState;
use context_runtime::{Agents, CancelSignal};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

#[path = "../src/bin/server/reply.rs"]
mod reply;
#[path = "../src/bin/server/routes.rs"]
mod routes;
#[path = "../src/bin/server/turns.rs"]
mod turns;

type TestResult = Result<(), Box<dyn Error>>;

/// Sends a request. With HTTP/1.0, the body of the response ends with its connection.
fn send(to: &str, method: &str, path: &str, body: &str) -> std::io::Result<BufReader<TcpStream>> {
    let mut stream = TcpStream::connect(to)?;
    let length = body.len();
    write!(stream, "{method} {path} HTTP/1.0\r\ncontent-length: {length}\r\n\r\n{body}")?;
    Ok(BufReader::new(stream))
}

/// Sends a request and returns the status line and the body.
fn request(to: &str, method: &str, path: &str, body: &str) -> std::io::Result<(String, String)> {
    let mut response = String::new();
    send(to, method, path, body)?.read_to_string(&mut response)?;
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or((&response, ""));
    Ok((head.lines().next().unwrap_or_default().to_owned(), body.to_owned()))
}

struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[test]
fn the_events_of_a_turn_and_its_history_arrive() -> TestResult {
    let mut program = Command::new(env!("CARGO_BIN_EXE_server"));
    program.arg("127.0.0.1:0").env_remove("CONTEXT_EXAMPLE_MODEL").stdout(Stdio::piped());
    let mut program = Program(program.spawn()?);
    let mut line = String::new();
    BufReader::new(program.0.stdout.take().ok_or("its output")?).read_line(&mut line)?;
    let to = line.trim().strip_prefix("listening on http://").ok_or("an address")?;

    let (status, body) = request(to, "POST", "/chats/lisbon/turns", "When is the next tram?")?;
    assert!(status.ends_with("200 OK"), "{status}");
    let (mut text, mut names) = (String::new(), Vec::new());
    for event in body.split_terminator("\n\n") {
        let (name, data) = event.split_once('\n').ok_or("a name and data")?;
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").ok_or("data")?)?;
        text += data["text"].as_str().unwrap_or_default();
        names.extend(data["tool_call"]["name"].as_str().map(str::to_owned));
        if name == "event: end" {
            assert!(data["usage"]["output"].as_u64() > Some(0) && data["usd"].is_f64(), "{data}");
            names.push("end".to_owned());
        }
    }
    assert_eq!(text, "The next tram of line 28 leaves at 10:05.");
    assert_eq!(names, ["next_tram", "end"]);

    let (_, history) = request(to, "GET", "/chats/lisbon", "")?;
    let history: Vec<Value> = serde_json::from_str(&history)?;
    let roles: Vec<_> = history.iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    assert_eq!(history[3]["text"], text);

    let (status, body) = request(to, "GET", "/chats/porto", "")?;
    assert!(status.ends_with("404 Not Found") && body.starts_with(r#"{"error":"#), "{body}");
    let too_long = format!("/chats/{}/turns", "x".repeat(10_000));
    let (status, body) = request(to, "POST", &too_long, "Hello?")?;
    assert!(status.ends_with("400 Bad Request") && body.starts_with(r#"{"error":"#), "{body}");
    Ok(())
}

/// A model that never ends its answer, unless it is broken: then it never begins one.
#[derive(Debug)]
struct Endless {
    is_broken: bool,
}

#[async_trait]
impl LanguageModel for Endless {
    fn name(&self) -> &str {
        small::MODEL
    }

    async fn complete(&self, _: &ModelRequest, _: &CancelSignal) -> Result<Answer, ModelError> {
        std::future::pending().await
    }

    async fn stream(
        &self,
        _: &ModelRequest,
        _: &CancelSignal,
        show: &mut (dyn FnMut(AnswerDelta) + Send),
    ) -> Result<Answer, ModelError> {
        if self.is_broken {
            let code = ModelErrorCode::Authentication;
            return Err(ModelError::new("anthropic", code, "no such key"));
        }
        show(AnswerDelta::Text("The tram".to_owned()));
        std::future::pending().await
    }
}

/// Serves these agents, and returns the address.
async fn serve(is_broken: bool) -> Result<(routes::Server, SocketAddr), Box<dyn Error>> {
    let client = Arc::new(Endless { is_broken });
    let agents = Agents::open("mem:").await?.client(client).build()?;
    let server = routes::Server { agents, turns: TaskTracker::new() };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let serving = axum::serve(listener, routes::routes(server.clone()));
    tokio::spawn(serving.into_future());
    Ok((server, address))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_cancels_its_turn_in_order() -> TestResult {
    let (server, address) = serve(false).await?;
    tokio::task::spawn_blocking(move || -> std::io::Result<()> {
        let response = send(&address.to_string(), "POST", "/chats/lisbon/turns", "When?")?;
        let arrived = response
            .lines()
            .find(|line| line.as_ref().is_ok_and(|line| *line == r#"data: {"text":"The tram"}"#));
        assert!(arrived.is_some(), "the connection is closed in the middle of the answer");
        Ok(())
    })
    .await??;
    server.turns.close();
    server.turns.wait().await;

    let mut chat = server.agents.chat("ada", "lisbon").await?;
    let left = chat.interrupted().await?.ok_or("an interrupted turn")?;
    assert_eq!(left.question.plain_text(), "When?");
    let recorded = chat.recorded().await?;
    let states: Vec<_> =
        recorded.agents().flat_map(|agent| agent.rounds()).map(|round| round.state()).collect();
    assert_eq!(states, [RoundState::Interrupted]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_fails_at_once_is_a_status_and_json() -> TestResult {
    let (_server, address) = serve(true).await?;
    let asking = move || request(&address.to_string(), "POST", "/chats/lisbon/turns", "When?");
    let (status, body) = tokio::task::spawn_blocking(asking).await??;
    assert!(!status.contains(" 2"), "{status}");
    let body: Value = serde_json::from_str(&body)?;
    assert!(body["error"].as_str().is_some_and(|error| !error.is_empty()), "{}", json!(body));
    Ok(())
}
