//! The states of apps and users, which no single session holds.

use std::collections::HashMap;

use adk_core::Result;
use context_runtime::store::{Chat, ChatPatch, NewChat};
use context_runtime::{ChatRef, Metadata};
use serde_json::Value;

use crate::error::of_store;
use crate::service::AdkSessions;

pub(crate) type StateMap = HashMap<String, Value>;

/// The prefix of the metadata keys, so that a state cannot take a key of another program.
const STATE: &str = "state:";

impl AdkSessions {
    /// Reads the state in a chat. Empty if there is no such chat.
    pub(crate) async fn read_state(&self, chat: &ChatRef) -> Result<StateMap> {
        let found = self.store.history().chat(chat).await.map_err(of_store)?;
        Ok(found.as_ref().map(of).unwrap_or_default())
    }

    /// Changes the state in a chat, in one transaction.
    pub(crate) async fn change_state(&self, chat: &ChatRef, delta: StateMap) -> Result<()> {
        if delta.is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        let history = self.store.history();
        let _ = history.create_chat(NewChat::new(chat.clone(), now)).await.map_err(of_store)?;
        let patch = ChatPatch { set: metadata(delta), ..ChatPatch::default() };
        history.update_chat(chat, &patch, now).await.map_err(of_store)?;
        Ok(())
    }
}

/// Returns the state that the metadata of a chat hold.
pub(crate) fn of(chat: &Chat) -> StateMap {
    let states = chat.metadata.iter().filter_map(|(key, value)| {
        Some((key.strip_prefix(STATE)?.to_owned(), value.parse().ok()?))
    });
    states.collect()
}

/// Returns the metadata that hold a state.
pub(crate) fn metadata(state: StateMap) -> Metadata {
    let mut keys: Vec<_> = state.into_iter().collect();
    keys.sort_by(|(left, _), (right, _)| left.cmp(right));
    keys.into_iter().fold(Metadata::default(), |metadata, (key, value)| {
        metadata.with(format!("{STATE}{key}"), value)
    })
}
