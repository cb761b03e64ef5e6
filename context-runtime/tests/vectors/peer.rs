//! The world of the recorded system in our terms: engines by variable name over one fresh store,
//! and every recorded operation.
//!
//! The recorded constructor touches nothing, so an engine is opened by its first operation that
//! reads or writes. The recorded store knows chats without their users, so the world remembers who
//! first created a chat. Ids that the case did not give are shown as `#1`, `#2`, … in the order
//! they appear.

mod history;
mod ids;
mod items;
pub(crate) mod streams;

use std::collections::HashMap;
use std::sync::Arc;

use context_runtime::instructions::Reminder;
use context_runtime::tokens::{Estimate, ModelTable};
use context_runtime::{
    ChatRef, ContextEngine, Edits, Error, Fragment, Json, MessageId, Metadata, Moved,
    RenderOptions, ResolveOptions, Store,
    store::{ChatPatch, Checkpoint, Node, TitleChange},
};
use serde_json::{Value, json};

use self::ids::{Ids, ShownIds, TickingClock};
pub(crate) use self::items::item;
use self::items::reminder_of;

/// The recorded stub model: a window of 60 tokens, 10 of them for the answer, and a price of two
/// units per million tokens.
const STUB: &str = r#"{"as_of": "2026-01-01", "currency": "USD",
    "families": {"demo": {"prefixes": [], "vocabulary": "o200k_base", "factor": {"typical": 1, "low": 1, "high": 1},
        "framing": {"message": [3, 3, 3], "call": [0, 0, 0], "tool": [0, 0, 0], "request": [0, 0, 0]}}},
    "models": {"demo:m1": {"family": "demo", "window": 60, "max_output": 10, "prices": {"input": 2, "output": 2}}}}"#;

/// The result of an operation.
#[derive(Debug)]
pub(crate) enum OperationResult {
    Value(Value),
    Error(Error),
    /// The operation is not supported here.
    Missing(String),
}

impl From<Error> for OperationResult {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl OperationResult {
    fn missing(what: impl Into<String>) -> Self {
        Self::Missing(what.into())
    }
}

type PeerResult<T = Value> = std::result::Result<T, OperationResult>;

/// One variable of the case.
struct Peer {
    chat: ChatRef,
    metadata: Metadata,
    /// Fragments that were set before the engine was opened.
    waiting: Vec<Fragment>,
    reminders: Vec<Reminder>,
    engine: Option<ContextEngine>,
}

/// All variables of a case and their store.
pub(crate) struct World {
    store: Arc<dyn Store>,
    peers: HashMap<String, Peer>,
    /// Chats in the order in which operations that create them first named them.
    chats: Vec<ChatRef>,
    ids: Ids,
    shown: ShownIds,
    /// The number of claims of the recorded manager.
    claims: u32,
}

impl World {
    pub(crate) async fn new() -> Result<Self, Error> {
        Ok(Self {
            store: context_runtime::open("mem:").await?,
            peers: HashMap::new(),
            chats: Vec::new(),
            ids: Ids::default(),
            shown: ShownIds::default(),
            claims: 0,
        })
    }

    /// Runs a recorded operation.
    pub(crate) async fn apply(&mut self, op: &Value) -> OperationResult {
        let op = self.shown.hide(op);
        let given = match self.dispatch(&op).await {
            Ok(value) => OperationResult::Value(value),
            Err(given) => given,
        };
        match given {
            OperationResult::Value(value) => OperationResult::Value(self.shown.show(value)),
            other => other,
        }
    }

    /// The chats that may exist, and the store.
    pub(crate) fn chats(&self) -> (&Arc<dyn Store>, &[ChatRef]) {
        (&self.store, &self.chats)
    }

    /// Returns a shown value with the stored ids.
    pub(crate) fn raw(&self, value: &Value) -> Value {
        self.shown.hide(value)
    }

    /// Returns the chat and the branch of an engine.
    pub(crate) fn place(&self, name: &str) -> Option<(&ChatRef, &str)> {
        let peer = self.peers.get(name)?;
        Some((&peer.chat, peer.engine.as_ref().map_or("main", |engine| engine.branch().as_str())))
    }

    async fn dispatch(&mut self, op: &Value) -> PeerResult {
        let name = op[0].as_str().unwrap_or_default();
        let first = op[1].as_str().unwrap_or_default();
        match name {
            "engine" => self.declare(first, &op[2]).await,
            "set" => self.set(first, &op[2]),
            "parallelSave" => {
                let mut heads = Vec::new();
                for name in op[1].as_array().into_iter().flatten() {
                    heads.push(self.save(name.as_str().unwrap_or_default(), &Value::Null).await?);
                }
                Ok(heads.into())
            }
            "save" => self.save(first, &op[2]).await,
            "resolve" => self.resolve(first, &op[2]).await,
            "estimate" => self.estimate(first, op[2].as_str().unwrap_or_default(), &op[3]).await,
            "fork" => self.fork(first, op[2].as_str().unwrap_or_default()).await,
            "branch" => Ok(self.place(first).map(|(_, branch)| branch).into()),
            "chat" => match self.peer(first)?.engine.as_ref() {
                Some(engine) => Ok(history::show_chat(&engine.chat().await?)),
                None => Ok(Value::Null),
            },
            "head" | "turns" | "headMessage" | "engineMessages" | "rewind" | "restore" | "btw"
            | "checkpoint" | "switch" | "updateChat" | "trackUsage" | "continue"
            | "messageDataId" => self.with_engine(name, first, &op[2]).await,
            "sNew" | "sUpsert" | "sRegister" | "sClaim" | "sCancel" | "sStatus" | "sAppend"
            | "sChunks" | "sGet" | "sDelete" | "sReopen" => self.stream_operation(name, op).await,
            _ => self.store_operation(name, op).await,
        }
    }

    async fn declare(&mut self, name: &str, options: &Value) -> PeerResult {
        let text = |key: &str| options[key].as_str().unwrap_or_default();
        let chat = ChatRef::new(text("user"), text("chat"));
        let peer = Peer {
            metadata: metadata(&options["metadata"]),
            chat: chat.clone(),
            waiting: Vec::new(),
            reminders: Vec::new(),
            engine: None,
        };
        self.peers.insert(name.to_owned(), peer);
        if chat.chat.as_str().is_empty() || chat.user.as_str().is_empty() {
            // The recorded constructor refuses what opening refuses here, and nothing can be
            // touched.
            self.opened(name).await?;
        }
        Ok(Value::Null)
    }

    fn peer(&mut self, name: &str) -> PeerResult<&mut Peer> {
        self.peers
            .get_mut(name)
            .ok_or_else(|| OperationResult::missing(format!("no engine {name:?}")))
    }

    async fn opened(&mut self, name: &str) -> PeerResult<&mut ContextEngine> {
        let ids = self.ids.clone();
        let chats = &mut self.chats;
        let peer = self
            .peers
            .get_mut(name)
            .ok_or_else(|| OperationResult::missing(format!("no engine {name:?}")))?;
        if peer.engine.is_none() {
            let builder = ContextEngine::builder(Arc::clone(&self.store))
                .user(peer.chat.user.clone())
                .chat(peer.chat.chat.clone())
                .metadata(peer.metadata.clone())
                .clock(TickingClock::default())
                .ids(ids);
            let mut engine = builder.open().await?;
            history::remember(chats, &peer.chat);
            engine.set(peer.waiting.drain(..)).remind(peer.reminders.drain(..));
            peer.engine = Some(engine);
        }
        peer.engine
            .as_mut()
            .ok_or_else(|| OperationResult::missing("an engine that was just opened"))
    }

    fn set(&mut self, name: &str, items: &Value) -> PeerResult {
        let (mut fragments, mut reminders) = (Vec::new(), Vec::new());
        for value in items.as_array().into_iter().flatten() {
            match reminder_of(value) {
                Some(reminder) => reminders.push(reminder?),
                None => fragments.push(item(value).map_err(OperationResult::Missing)?.fragment),
            }
        }
        let peer = self.peer(name)?;
        match &mut peer.engine {
            Some(engine) => {
                engine.set(fragments).remind(reminders);
            }
            None => {
                peer.waiting.extend(fragments);
                peer.reminders.extend(reminders);
            }
        }
        Ok(Value::Null)
    }

    async fn save(&mut self, name: &str, options: &Value) -> PeerResult {
        let edits = match options["branch"].as_bool() {
            Some(true) => Edits::Branch,
            Some(false) => Edits::Amend,
            None => Edits::Auto,
        };
        let saved = self.opened(name).await?.save_with(edits).await?;
        Ok(json!({"head": saved.head}))
    }

    async fn resolve(&mut self, name: &str, renderer: &Value) -> PeerResult {
        let format = renderer.as_str().unwrap_or("xml");
        let renderer = context_runtime::renderer(format, RenderOptions::new())
            .ok_or_else(|| OperationResult::missing(format!("renderer {format}")))?;
        let options = ResolveOptions::new().renderer(&*renderer);
        let resolved = self.opened(name).await?.resolve_with(options).await?;
        let messages: Vec<_> = resolved.messages.iter().map(|node| show_node(node)).collect();
        Ok(json!({"systemPrompt": resolved.system_prompt, "messages": messages}))
    }

    /// Estimates the tokens of a call of the recorded stub model.
    async fn estimate(&mut self, name: &str, model: &str, renderer: &Value) -> PeerResult {
        let format = renderer.as_str().unwrap_or("xml");
        let renderer = context_runtime::renderer(format, RenderOptions::new())
            .ok_or_else(|| OperationResult::missing(format!("renderer {format}")))?;
        let table = ModelTable::from_json(STUB)
            .map_err(|error| OperationResult::missing(error.to_string()))?;
        let model = table.model(model);
        if !model.is_listed() {
            return Err(Error::not_found("estimate", "model", model.name()).into());
        }
        let resolved = self
            .opened(name)
            .await?
            .resolve_with(ResolveOptions::new().renderer(&*renderer))
            .await?;
        let estimate = Estimate::new(&resolved.request(), &model.counter(), &model);
        let parts = estimate.request;
        let parts = [parts.system, parts.messages, parts.framing].map(|count| count.tokens());
        Ok(json!({
            "tokens": estimate.total.tokens(),
            "parts": parts,
            "cost": estimate.input_cost.as_ref().map(|cost| cost.amount),
            "exceedsContext": estimate.fits().map(|fits| !fits),
        }))
    }

    /// Runs the recorded fork, which copies the context fragments and no message.
    async fn fork(&mut self, from: &str, to: &str) -> PeerResult {
        let parent = self.opened(from).await?;
        let name = format!("fork of {}", parent.chat_ref().chat);
        let engine = parent.fork_empty(name).await?;
        let chat = engine.chat_ref().clone();
        history::remember(&mut self.chats, &chat);
        let (metadata, engine) = (Metadata::default(), Some(engine));
        let peer = Peer { chat, metadata, waiting: Vec::new(), reminders: Vec::new(), engine };
        self.peers.insert(to.to_owned(), peer);
        Ok(json!({"sameChat": false}))
    }

    async fn with_engine(&mut self, op: &str, name: &str, arg: &Value) -> PeerResult {
        if op == "head" && self.peer(name)?.engine.is_none() {
            return Ok(Value::Null);
        }
        let text = arg.as_str().unwrap_or_default();
        let engine = self.opened(name).await?;
        match op {
            "head" => {
                let branch = engine.branch().clone();
                let branches = engine.store().history().branches(engine.chat_ref()).await?;
                Ok(json!(branches.into_iter().find(|b| b.name == branch).and_then(|b| b.head)))
            }
            "turns" => Ok(engine.turn_count().await?.into()),
            "headMessage" => {
                let head = engine.head_message().await?;
                Ok(head.map_or(Value::Null, |node| json!({"id": node.id, "name": role_of(&node)})))
            }
            "engineMessages" => {
                let messages = engine.resolve().await?.messages;
                Ok(messages.iter().map(|node| show_with_metadata(node)).collect())
            }
            "rewind" => {
                let moved = engine.rewind(&MessageId::from(text)).await?;
                show_moved(engine, moved).await
            }
            "restore" => {
                let moved = engine.restore(text).await?;
                show_moved(engine, moved).await
            }
            "btw" => {
                let moved = engine.fork_here().await?;
                show_moved(engine, moved).await
            }
            "checkpoint" => Ok(show_checkpoint(&engine.checkpoint(text).await?)),
            "switch" => {
                let _moved = engine.switch_branch(text).await?;
                Ok(Value::Null)
            }
            "updateChat" => Ok(history::show_chat(&engine.update_chat(&patch(arg)).await?)),
            "trackUsage" => {
                let usage = engine.track_usage(Json::from(arg)).await?;
                Ok(serde_json::from_str(usage.as_str()).unwrap_or_default())
            }
            "continue" => {
                let input = item(arg).map_err(OperationResult::Missing)?.fragment;
                Ok(json!(engine.continue_turn(input).await?))
            }
            // A body has no id of its own here. The row's id is the only one.
            "messageDataId" => {
                let head = engine.head_message().await?.map(|node| node.id.clone());
                Ok(json!({"rowId": head, "dataId": head}))
            }
            _ => Err(OperationResult::missing(format!("operation {op:?}"))),
        }
    }
}

async fn show_moved(engine: &ContextEngine, moved: Moved) -> PeerResult {
    let branches = engine.store().history().branches(engine.chat_ref()).await?;
    let branch = branches.iter().find(|branch| branch.name == moved.branch);
    Ok(branch.map_or(Value::Null, history::show_branch))
}

fn show_checkpoint(checkpoint: &Checkpoint) -> Value {
    json!({"name": checkpoint.name, "message": checkpoint.message})
}

/// Shows `[id, role, text]`.
fn show_node(node: &Node) -> Value {
    json!([node.id, role_of(node), history::text_of(node)])
}

/// Shows the same with the metadata, if there is any.
fn show_with_metadata(node: &Node) -> Value {
    let mut shown = show_node(node);
    let metadata = node.message().map(|message| message.metadata.clone()).unwrap_or_default();
    if let (Value::Array(row), false) = (&mut shown, metadata.is_empty()) {
        row.push(metadata.iter().map(|(key, _)| Value::from(key)).collect());
    }
    shown
}

fn role_of(node: &Node) -> &'static str {
    node.role().map_or("boundary", |role| role.as_str())
}

fn metadata(value: &Value) -> Metadata {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.clone(), Json::from(value))).collect()
}

fn patch(value: &Value) -> ChatPatch {
    ChatPatch {
        title: match value["title"].as_str() {
            Some(title) => TitleChange::Set(title.to_owned()),
            None => TitleChange::Keep,
        },
        set: metadata(&value["metadata"]),
        ..ChatPatch::default()
    }
}
