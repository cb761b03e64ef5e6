//! The state of a chat, for pages that follow it.

use context_runtime::store::RoundQuery;
use context_runtime::{Error, MessageId, Timestamp};
use serde::Serialize;

use super::Operations;
use crate::OperationError;

/// The state of a chat. Two equal states have the same content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChatVersion {
    /// The time of the last write.
    pub updated_at: Timestamp,
    /// The active branch.
    pub active: String,
    /// Each branch with its head.
    pub heads: Vec<(String, Option<String>)>,
    /// The number of changes of the newest round of the session with the chat's name.
    pub revision: u64,
    /// The number of that round.
    pub round: u32,
}

impl Operations {
    /// Returns the state of a chat, or of a session without one. Costs three small reads, whatever
    /// the length of the chat.
    pub async fn chat_state(&self, chat: &str) -> Result<ChatVersion, OperationError> {
        let chat = self.chat_ref(chat);
        let found = self.history().chat(&chat).await?;
        let mut state = ChatVersion {
            updated_at: Timestamp::default(),
            active: String::new(),
            heads: Vec::new(),
            revision: 0,
            round: 0,
        };
        if let Some(found) = &found {
            let branches = self.history().branches(&chat).await?;
            let head = |head: Option<MessageId>| head.map(|head| head.to_string());
            let heads = branches.into_iter().map(|it| (it.name.to_string(), head(it.head)));
            (state.updated_at, state.heads) = (found.updated_at, heads.collect());
            state.active = found.active.to_string();
        }
        if let Some(rounds) = self.store.trajectories() {
            let query = RoundQuery::of_user(self.user.clone()).session(chat.chat.as_str()).limit(1);
            if let Some(head) = rounds.rounds(&query).await?.items.first() {
                (state.revision, state.round) = (head.revision, head.round.round);
                return Ok(state);
            }
        }
        found.ok_or_else(|| Error::not_found("chat", "chat", &chat.chat))?;
        Ok(state)
    }
}
