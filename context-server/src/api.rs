//! The HTTP API: each operation as JSON.

pub(crate) mod memory;
pub(crate) mod run;
mod sent;

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use context_runtime::store::Node;
use context_runtime::{MessageId, Part};
use futures_util::Stream;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(crate) use self::sent::{body as sent_body, difference as sent_difference, sent};
use crate::operations::{
    Action, ActionDone, AnswerProgress, BranchDifference, BranchTree, ChatFacts, ChatPage,
    ChatVersion, PieceInFlight, SearchAnswer, StoredMessage, TurnHead,
};
use crate::{OperationError, Operations};

/// The time between two looks at a chat that somebody follows.
const LOOK: Duration = Duration::from_millis(700);
/// The number of messages in an answer, unless the request names another.
const PAGE: usize = 100;
const LARGEST_PAGE: usize = 1_000;

type Answer<T> = Result<Json<T>, OperationError>;

/// The part of a list.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Slice {
    pub(crate) branch: Option<String>,
    #[serde(default)]
    pub(crate) from: usize,
    pub(crate) count: Option<usize>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct After {
    after: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Words {
    #[serde(default)]
    pub(crate) q: String,
    pub(crate) chat: Option<String>,
    pub(crate) after: Option<String>,
}

/// A chat with the size of one of its branches.
#[derive(Debug, Serialize)]
pub(crate) struct ChatAnswer {
    chat: context_runtime::store::Chat,
    branch: String,
    head: Option<MessageId>,
    messages: usize,
    rows: usize,
    turns: usize,
    generation: u64,
    boundary: Option<MessageId>,
}

pub(crate) async fn chats(
    State(operations): State<Operations>,
    Query(After { after }): Query<After>,
) -> Answer<ChatPage> {
    Ok(Json(operations.chats(after.as_deref()).await?))
}

pub(crate) async fn search(
    State(operations): State<Operations>,
    Query(words): Query<Words>,
) -> Answer<SearchAnswer> {
    let (chat, after) = (words.chat.as_deref(), words.after.as_deref());
    Ok(Json(operations.search(&words.q, chat, after).await?))
}

pub(crate) async fn chat(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(slice): Query<Slice>,
) -> Answer<ChatAnswer> {
    let view = operations.branch(&chat, slice.branch.as_deref()).await?;
    Ok(Json(ChatAnswer {
        chat: view.chat.clone(),
        branch: view.branch.to_string(),
        head: view.chain.head().cloned(),
        messages: view.chain.len(),
        rows: view.rows(),
        turns: view.turns(),
        generation: view.chain.generation(),
        boundary: view.boundary().cloned(),
    }))
}

pub(crate) async fn facts(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
) -> Answer<ChatFacts> {
    Ok(Json(operations.chat_facts(&chat).await?))
}

pub(crate) async fn messages(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(slice): Query<Slice>,
) -> Answer<Vec<StoredMessage>> {
    let view = operations.branch(&chat, slice.branch.as_deref()).await?;
    let count = slice.count.unwrap_or(PAGE).min(LARGEST_PAGE);
    let nodes = (slice.from..slice.from.saturating_add(count)).map_while(|at| view.chain.get(at));
    Ok(Json(nodes.map(|node| StoredMessage::of(node)).collect()))
}

pub(crate) async fn message(
    State(operations): State<Operations>,
    Path((chat, message)): Path<(String, String)>,
) -> Answer<StoredMessage> {
    Ok(Json(operations.message(&chat, &message).await?))
}

pub(crate) async fn outline(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(slice): Query<Slice>,
) -> Answer<Vec<TurnHead>> {
    let view = operations.branch(&chat, slice.branch.as_deref()).await?;
    Ok(Json(view.outline(slice.from, slice.count.unwrap_or(PAGE).min(LARGEST_PAGE))))
}

pub(crate) async fn answering(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(slice): Query<Slice>,
) -> Answer<Vec<PieceInFlight>> {
    Ok(Json(operations.answering(&chat, slice.branch.as_deref()).await?))
}

/// The rows in which a tool call failed.
pub(crate) async fn failures(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(slice): Query<Slice>,
) -> Answer<Vec<usize>> {
    let view = operations.branch(&chat, slice.branch.as_deref()).await?;
    let failed = |node: &Node| {
        node.message().is_ok_and(|message| {
            let mut parts = message.parts.iter();
            parts.any(|part| matches!(part, Part::ToolResult(result) if result.is_error))
        })
    };
    let found = tokio::task::spawn_blocking(move || {
        let rows = (0..view.rows()).filter_map(|at| view.row(at));
        let rows = rows.filter(|row| failed(row.node) || row.results().any(|node| failed(node)));
        rows.map(|row| row.at).collect()
    });
    Ok(Json(found.await?))
}

pub(crate) async fn tree(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
) -> Answer<BranchTree> {
    Ok(Json(operations.tree(&chat).await?))
}

#[derive(Debug, Deserialize)]
pub(crate) struct Sides {
    left: String,
    right: String,
}

pub(crate) async fn branch_difference(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(Sides { left, right }): Query<Sides>,
) -> Answer<BranchDifference> {
    Ok(Json(operations.branch_difference(&chat, &left, &right).await?))
}

pub(crate) async fn act(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Json(action): Json<Action>,
) -> Answer<ActionDone> {
    Ok(Json(operations.act(&chat, action).await?))
}

/// The state of a chat, and the progress of the answer on one of its branches.
#[derive(Serialize)]
pub(crate) struct Live {
    #[serde(flatten)]
    version: ChatVersion,
    answer: Option<AnswerProgress>,
}

/// A chat that somebody follows.
struct Followed {
    operations: Operations,
    chat: String,
    branch: Option<String>,
    /// The heads for which the newest request is known: the branch is read when they change.
    heads: Vec<(String, Option<String>)>,
    request: Option<MessageId>,
    /// The id of the newest state that was sent.
    seen: Option<String>,
}

impl Followed {
    async fn look(&mut self) -> Result<Live, OperationError> {
        let version = self.operations.chat_state(&self.chat).await?;
        if self.heads != version.heads {
            let newest = self.operations.followed_request(&self.chat, self.branch.as_deref());
            // A branch that is gone has no answer; the page learns from the heads that it is gone.
            self.request = newest.await.unwrap_or_default();
            self.heads.clone_from(&version.heads);
        }
        let answer = match &self.request {
            Some(request) => self.operations.answer_progress(&self.chat, request).await?,
            None => None,
        };
        Ok(Live { version, answer })
    }
}

/// The states of a chat as they follow each other, the present one first.
pub(crate) async fn events(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(Slice { branch, .. }): Query<Slice>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, OperationError> {
    let events = chat_events(operations, chat, branch, None).await?;
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// Returns the states of a chat as events, the present one first unless its id is `seen`. A chat
/// that is gone ends the events.
pub(crate) async fn chat_events(
    operations: Operations,
    chat: String,
    branch: Option<String>,
    seen: Option<String>,
) -> Result<impl Stream<Item = Result<Event, Infallible>> + use<>, OperationError> {
    let mut followed =
        Followed { operations, chat, branch, heads: Vec::new(), request: None, seen };
    let first = followed.look().await?;
    Ok(futures_util::stream::unfold((followed, Some(first)), |(mut followed, first)| {
        let mut first = first;
        async move {
            loop {
                let state = match first.take() {
                    Some(state) => state,
                    None => {
                        tokio::time::sleep(LOOK).await;
                        // A store that does not answer may do so the next time.
                        match followed.look().await {
                            Ok(state) => state,
                            Err(error) if error.status().as_u16() == 404 => return None,
                            Err(_) => continue,
                        }
                    }
                };
                // A state is plain data, which has a JSON form.
                let json = serde_json::to_string(&state).unwrap_or_default();
                let id = hash(&json);
                if followed.seen.as_ref() != Some(&id) {
                    let event = Event::default().event("state").id(&id).data(json);
                    followed.seen = Some(id);
                    return Some((Ok(event), (followed, None)));
                }
            }
        }
    }))
}

/// Returns a short hash of a state, by which a client tells whether it has seen it.
fn hash(json: &str) -> String {
    Sha256::digest(json.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
