//! The list of chats, and facts about each.

use std::sync::PoisonError;

use context_runtime::store::{
    Branch, ChainEnd, Chat, ChatPatch, ChatQuery, ChatSummary, Checkpoint, Cursor, RoundQuery,
    TitleChange, Window,
};
use context_runtime::trajectory::AgentRef;
use context_runtime::{ChatRef, Metadata, Part, Timestamp, limits};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Operations;
use super::chat_usage::KeptUsage;
use crate::OperationError;

/// The number of chats in a page of the list.
const PAGE: usize = 200;
/// The newest messages of a chat, from which its facts are taken.
const LOOKED_AT: usize = 20_000;
/// The number of chats whose facts are kept in memory: two pages of the list.
const KEPT: usize = 2 * PAGE;

/// A page of the list of chats.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[non_exhaustive]
pub struct ChatPage {
    /// The chats, newest activity first.
    pub chats: Vec<ChatHead>,
    /// The cursor of the next page. `None` on the last page.
    pub next: Option<String>,
}

/// A chat in the list.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[non_exhaustive]
pub struct ChatHead {
    /// The id.
    pub chat: String,
    /// The title, if it has one.
    pub title: Option<String>,
    /// The number of messages on all branches.
    pub messages: u64,
    /// The number of branches.
    pub branches: u64,
    /// The active branch.
    pub active: String,
    /// The time of the last write, in microseconds since 1970.
    #[schema(value_type = i64)]
    pub updated_at: Timestamp,
    /// The creation time, in microseconds since 1970.
    #[schema(value_type = i64)]
    pub created_at: Timestamp,
}

/// Changes of a chat, or the facts of a new one. Absent facts stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ChatChange {
    /// The title for people. An empty one removes it.
    pub title: Option<String>,
    /// Facts of the application, by key. `null` removes a key.
    #[serde(default)]
    #[schema(value_type = HashMap<String, Value>)]
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

/// A chat with its branches and checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct ChatOverview {
    /// The id.
    pub chat: String,
    /// The title, if it has one.
    pub title: Option<String>,
    /// Facts of the application.
    #[schema(value_type = HashMap<String, Value>)]
    pub metadata: Metadata,
    /// The active branch.
    pub active: String,
    /// The branches, in the order of their creation.
    pub branches: Vec<BranchState>,
    /// The checkpoints.
    pub checkpoints: Vec<CheckpointState>,
    /// The time of the last write, in microseconds since 1970.
    #[schema(value_type = i64)]
    pub updated_at: Timestamp,
    /// The creation time, in microseconds since 1970.
    #[schema(value_type = i64)]
    pub created_at: Timestamp,
}

/// A branch: a name, and its newest message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct BranchState {
    /// The name.
    pub name: String,
    /// The newest message. `None` if there is none.
    pub head: Option<String>,
}

/// A checkpoint: a name of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct CheckpointState {
    /// The name.
    pub name: String,
    /// The message.
    pub message: String,
}

/// Facts about a chat that need its messages or rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChatFacts {
    /// The model of the newest recorded answer.
    pub model: Option<String>,
    /// Input tokens of all recorded calls, cached ones included. `None` if none was recorded.
    pub input_tokens: Option<u64>,
    /// Output tokens of all recorded calls.
    pub output_tokens: Option<u64>,
    /// Whether there are more tokens: a call has no usage, or there are too many rounds to read.
    pub tokens_at_least: bool,
    /// The recorded cost in US dollars. `None` if no call has a price.
    pub cost_usd: Option<f64>,
    /// Whether it cost more: a call has no price, or there are too many rounds to read.
    pub cost_at_least: bool,
    /// The number of tool calls on the active branch.
    pub calls: u64,
    /// The number of tool calls on the active branch that failed.
    pub failures: u64,
    /// Whether the chat was too long to look at completely.
    pub partial: bool,
}

impl From<ChatSummary> for ChatHead {
    fn from(summary: ChatSummary) -> Self {
        let ChatSummary { chat, messages, branches, .. } = summary;
        Self {
            chat: chat.chat.chat.to_string(),
            title: chat.title,
            messages,
            branches,
            active: chat.active.to_string(),
            updated_at: chat.updated_at,
            created_at: chat.created_at,
        }
    }
}

impl Operations {
    /// Returns a page of the chats, newest activity first.
    pub async fn chats(&self, after: Option<&str>) -> Result<ChatPage, OperationError> {
        let mut query = ChatQuery::new(self.user.clone());
        query.limit = PAGE.min(limits::MAX_PAGE);
        query.after = after.map(Cursor::new);
        let page = self.history().list_chats(&query).await?;
        Ok(ChatPage {
            chats: page.items.into_iter().map(ChatHead::from).collect(),
            next: page.next.map(|next| next.as_str().to_owned()),
        })
    }

    /// Returns a chat with its branches and checkpoints.
    pub async fn chat_with_branches(&self, chat: &str) -> Result<ChatOverview, OperationError> {
        let (chat, branches, checkpoints) = self.chat(chat).await?;
        let branch = |branch: Branch| BranchState {
            name: branch.name.to_string(),
            head: branch.head.map(|head| head.to_string()),
        };
        let checkpoint = |checkpoint: Checkpoint| CheckpointState {
            name: checkpoint.name.to_string(),
            message: checkpoint.message.to_string(),
        };
        Ok(ChatOverview {
            chat: chat.chat.chat.to_string(),
            title: chat.title,
            metadata: chat.metadata,
            active: chat.active.to_string(),
            branches: branches.into_iter().map(branch).collect(),
            checkpoints: checkpoints.into_iter().map(checkpoint).collect(),
            updated_at: chat.updated_at,
            created_at: chat.created_at,
        })
    }

    /// Creates a chat unless it exists, and changes its title and metadata.
    pub async fn put_chat(
        &self,
        chat: &str,
        change: ChatChange,
    ) -> Result<ChatOverview, OperationError> {
        self.check_writable()?;
        let reference = self.checked(chat)?;
        self.create_missing(&reference).await?;
        let title = match change.title {
            None => TitleChange::Keep,
            Some(title) if title.is_empty() => TitleChange::Remove,
            Some(title) => TitleChange::Set(title),
        };
        let mut patch = ChatPatch { title, ..ChatPatch::default() };
        for (key, value) in change.metadata {
            match value.is_null() {
                true => patch.remove.push(key),
                false => {
                    patch.set.insert(key, value);
                }
            }
        }
        if patch != ChatPatch::default() {
            self.history().update_chat(&reference, &patch, self.clock.now()).await?;
        }
        self.chat_with_branches(chat).await
    }

    /// Deletes a chat with everything in it. Returns whether it existed.
    pub async fn delete_chat(&self, chat: &str) -> Result<bool, OperationError> {
        self.check_writable()?;
        let chat = self.checked(chat)?;
        Ok(self.history().delete_chat(&chat, None).await?)
    }

    /// Returns facts about a chat: its model, usage, cost, and failures. What was read before is
    /// read again only where the chat has changed.
    pub async fn chat_facts(&self, chat: &str) -> Result<ChatFacts, OperationError> {
        let (found, ..) = self.chat(chat).await?;
        let known = {
            let mut kept = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
            let at = kept.iter().position(|kept| kept.chat == found.chat);
            at.and_then(|at| kept.remove(at))
        };
        let mut known = match known {
            Some(known) if known.updated_at == found.updated_at => known,
            known => {
                let usage = known.map(|known| known.usage).unwrap_or_default();
                let counted = self.count_calls(&found).await?;
                let (chat, updated_at) = (found.chat.clone(), found.updated_at);
                KeptFacts { chat, updated_at, counted, usage }
            }
        };
        if let Some(rounds) = self.store.trajectories() {
            let agent = AgentRef::main(self.user.clone(), chat);
            known.usage.update(rounds, &agent).await?;
        }
        let mut facts = known.counted.clone();
        known.usage.add_to(&mut facts);
        let mut kept = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front(known);
        kept.truncate(KEPT);
        Ok(facts)
    }

    /// Counts the tool calls of the active branch.
    async fn count_calls(&self, found: &Chat) -> Result<ChatFacts, OperationError> {
        let end = ChainEnd::Branch(found.active.clone());
        let chain = self.history().chain(&found.chat, &end, &Window::Last(LOOKED_AT)).await?;
        let count = move || {
            let mut facts = ChatFacts { partial: chain.skipped() > 0, ..ChatFacts::default() };
            for message in chain.iter().filter_map(|node| node.message().ok()) {
                for part in &message.parts {
                    match part {
                        Part::ToolCall(_) => facts.calls += 1,
                        Part::ToolResult(result) if result.is_error => facts.failures += 1,
                        _ => {}
                    }
                }
            }
            facts
        };
        Ok(tokio::task::spawn_blocking(count).await?)
    }

    /// Returns the model of the newest answer that a round of the chat's main agent recorded.
    pub(super) async fn newest_model(&self, chat: &str) -> Result<Option<String>, OperationError> {
        let Some(rounds) = self.store.trajectories() else { return Ok(None) };
        let agent = AgentRef::main(self.user.clone(), chat);
        let heads = rounds.rounds(&RoundQuery::of_agent(&agent).limit(1)).await?.items;
        let Some(newest) = heads.first().map(|head| head.round.round) else { return Ok(None) };
        let loaded = rounds.load_rounds(&agent, newest.saturating_sub(1)..=newest).await?;
        let nodes = loaded.iter().flat_map(|round| &round.nodes);
        let mut models = nodes.filter_map(|node| node.measures.as_ref()?.model.as_ref());
        Ok(models.next_back().map(ToString::to_string))
    }
}

/// The facts of a chat, kept for the next view of the list.
pub(super) struct KeptFacts {
    chat: ChatRef,
    updated_at: Timestamp,
    /// The facts of its messages.
    counted: ChatFacts,
    usage: KeptUsage,
}
