//! The state of a chat, for pages that follow it.

use context_runtime::store::RoundQuery;
use context_runtime::{Error, Timestamp};
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
    /// Returns the state of a chat. Costs three small reads, whatever the length of the chat.
    pub async fn chat_state(&self, chat: &str) -> Result<ChatVersion, OperationError> {
        let chat = self.chat_ref(chat);
        let found = self.history().chat(&chat).await?;
        let found = found.ok_or_else(|| Error::not_found("chat", "chat", &chat.chat))?;
        let branches = self.history().branches(&chat).await?;
        let heads = branches
            .iter()
            .map(|branch| (branch.name.to_string(), branch.head.as_ref().map(ToString::to_string)));
        let mut state = ChatVersion {
            updated_at: found.updated_at,
            active: found.active.to_string(),
            heads: heads.collect(),
            revision: 0,
            round: 0,
        };
        if let Some(rounds) = self.store.trajectories() {
            let query = RoundQuery::of_user(self.user.clone()).session(chat.chat.as_str()).limit(1);
            if let Some(head) = rounds.rounds(&query).await?.items.first() {
                (state.revision, state.round) = (head.revision, head.round.round);
            }
        }
        Ok(state)
    }
}
