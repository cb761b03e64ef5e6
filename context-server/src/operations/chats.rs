//! The list of chats, and facts about each.

use std::ops::RangeInclusive;

use context_runtime::store::{ChainEnd, ChatQuery, ChatSummary, Cursor, RoundQuery, Window};
use context_runtime::trajectory::AgentRef;
use context_runtime::{Part, Timestamp, limits};
use serde::Serialize;

use super::Operations;
use crate::OperationError;

/// The number of chats in a page of the list.
const PAGE: usize = 200;
/// The newest messages of a chat, from which its facts are taken.
const LOOKED_AT: usize = 20_000;
/// The newest rounds of a chat, from which usage is summed.
const ROUNDS: u32 = 2_000;

/// A page of the list of chats.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ChatPage {
    /// The chats, newest activity first.
    pub chats: Vec<ChatHead>,
    /// The cursor of the next page. `None` on the last page.
    pub next: Option<String>,
}

/// A chat in the list.
#[derive(Clone, Debug, Serialize)]
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
    /// The time of the last write.
    pub updated_at: Timestamp,
    /// The creation time.
    pub created_at: Timestamp,
}

/// Facts about a chat that need its messages or rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChatFacts {
    /// The model of the newest recorded answer.
    pub model: Option<String>,
    /// Input tokens of all recorded calls. `None` if none was recorded.
    pub input_tokens: Option<u64>,
    /// Output tokens of all recorded calls.
    pub output_tokens: Option<u64>,
    /// The recorded cost in US dollars.
    pub cost_usd: Option<f64>,
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

    /// Returns facts about a chat: its model, usage, cost, and failures.
    pub async fn chat_facts(&self, chat: &str) -> Result<ChatFacts, OperationError> {
        let (found, ..) = self.chat(chat).await?;
        let end = ChainEnd::Branch(found.active.clone());
        let chain = self.history().chain(&found.chat, &end, &Window::Last(LOOKED_AT)).await?;
        let mut facts = tokio::task::spawn_blocking(move || {
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
        })
        .await?;
        self.add_usage(chat, &mut facts).await?;
        Ok(facts)
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

    /// Adds the usage that the rounds of the chat's main agent recorded.
    async fn add_usage(&self, chat: &str, facts: &mut ChatFacts) -> Result<(), OperationError> {
        let Some(rounds) = self.store.trajectories() else { return Ok(()) };
        let agent = AgentRef::main(self.user.clone(), chat);
        let range: RangeInclusive<u32> = 0..=ROUNDS;
        let sum = |total: &mut Option<u64>, tokens: Option<u64>| {
            if let Some(tokens) = tokens {
                *total = Some(total.unwrap_or_default().saturating_add(tokens));
            }
        };
        for round in rounds.load_rounds(&agent, range).await? {
            for node in &round.nodes {
                let Some(measures) = &node.measures else { continue };
                if let Some(model) = &measures.model {
                    facts.model = Some(model.to_string());
                }
                let input = measures.input_tokens.map(|tokens| {
                    tokens
                        + measures.cache_read_tokens.unwrap_or_default()
                        + measures.cache_write_tokens.unwrap_or_default()
                });
                sum(&mut facts.input_tokens, input);
                sum(&mut facts.output_tokens, measures.output_tokens);
                if let Some(cost) = measures.cost_usd {
                    facts.cost_usd = Some(facts.cost_usd.unwrap_or_default() + cost);
                }
            }
            facts.partial |= round.head.round.round == ROUNDS;
        }
        Ok(())
    }
}
