//! A turn as events, with the tool that it may use.

use axum::extract::{Path, State};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use context_runtime::{CancelSource, Error, tools};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use crate::reply::{CancelOnDrop, Failure, event};
use crate::routes::{Server, USER};

pub async fn ask(
    server: State<Server>,
    chat: Path<String>,
    ask: String,
) -> Result<Response, Failure> {
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

/// Returns when the next tram of a line leaves.
#[derive(Deserialize, schemars::JsonSchema)]
struct NextTram {
    line: u8,
}

async fn next_tram(NextTram { line }: NextTram) -> String {
    format!("line {line}: 10:05")
}
