//! The events of a session: messages on the active branch of its chat.

use std::sync::Arc;

use adk_core::identity::AdkIdentity;
use adk_core::{ErrorCategory, Result};
use adk_session::{Event, KEY_PREFIX_TEMP, extract_state_deltas, merge_states};
use chrono::{DateTime, Utc};
use context_runtime::compaction::shown;
use context_runtime::store::{
    Chain, ChainEnd, Chat, Commit, CommitOutcome, ForkName, Node, Target, Window,
};
use context_runtime::{MessageId, Timestamp};

use crate::convert::{event_of, message_of};
use crate::error::{not_found, of_json, of_store, session};
use crate::keys;
use crate::service::AdkSessions;
use crate::session::{ReadEvents, ReadSession, ReadState};
use crate::state;

/// The number of times that an append is repeated because another event was appended meanwhile.
const ATTEMPTS: usize = 64;

/// A point of a session to go back to.
pub(crate) enum Point<'a> {
    /// Right after the event with this id.
    Event(&'a str),
    /// This many events before the end.
    Steps(usize),
}

impl AdkSessions {
    async fn chat(&self, identity: &AdkIdentity) -> Result<Chat> {
        let chat = self.store.history().chat(&keys::session(identity)).await.map_err(of_store)?;
        chat.ok_or_else(|| not_found(identity.session_id.as_ref()))
    }

    /// Reads a session with all its events and the states of all scopes.
    pub(crate) async fn read(&self, identity: &AdkIdentity) -> Result<ReadSession> {
        let mut read = self.read_alone(identity).await?;
        let (app, user) = (identity.app_name.as_ref(), identity.user_id.as_ref());
        let app_state = self.read_state(&keys::app_state(app)).await?;
        let user_state = self.read_state(&keys::user_state(app, user)).await?;
        read.state.0 = merge_states(&app_state, &user_state, &read.state.0);
        Ok(read)
    }

    /// Reads a session with all its events and its own state.
    pub(crate) async fn read_alone(&self, identity: &AdkIdentity) -> Result<ReadSession> {
        let chat = self.chat(identity).await?;
        let chain = self.chain(&chat).await?;
        let mut state = state::of(&chat);
        for node in chain.iter() {
            if let Some(event) = event_of(node).map_err(of_json)? {
                state.extend(extract_state_deltas(&event.actions.state_delta).2);
            }
        }
        let events = shown(&chain).into_iter().map(|shown| event_of(&shown.node));
        let events = events.filter_map(std::result::Result::transpose);
        let events: Vec<Event> = events.collect::<std::result::Result<_, _>>().map_err(of_json)?;
        let created = DateTime::from_timestamp_micros(chat.created_at.as_micros());
        let updated_at = events.last().map(|event| event.timestamp).or(created);
        Ok(ReadSession {
            identity: identity.clone(),
            state: ReadState(state),
            events: ReadEvents(events),
            updated_at: updated_at.unwrap_or_default(),
        })
    }

    async fn chain(&self, chat: &Chat) -> Result<Chain> {
        let end = ChainEnd::Branch(chat.active.clone());
        let chain = self.store.history().chain(&chat.chat, &end, &Window::Whole).await;
        chain.map_err(of_store)
    }

    /// Appends an event and changes the states that it changes.
    pub(crate) async fn append(&self, identity: &AdkIdentity, mut event: Event) -> Result<()> {
        event.actions.state_delta.retain(|key, _| !key.starts_with(KEY_PREFIX_TEMP));
        let message = Arc::new(message_of(&event).map_err(of_json)?);
        let mut chat = self.chat(identity).await?;
        let (app, user) = (identity.app_name.as_ref(), identity.user_id.as_ref());
        let (of_app, of_user, _) = extract_state_deltas(&event.actions.state_delta);
        self.change_state(&keys::app_state(app), of_app).await?;
        self.change_state(&keys::user_state(app, user), of_user).await?;

        let history = self.store.history();
        let at = timestamp(event.timestamp);
        let id = MessageId::from(event.id.as_str());
        let mut node = Arc::new(Node::new(id, message.clone(), at));
        for _ in 0..ATTEMPTS {
            let end = ChainEnd::Branch(chat.active.clone());
            let last = history.chain(&chat.chat, &end, &Window::Last(1)).await.map_err(of_store)?;
            let target =
                Target::Extend { branch: chat.active.clone(), expected: last.head().cloned() };
            let commit = Commit::new(chat.chat.clone(), target, self.clock.now());
            let commit = Commit { nodes: vec![node.clone()], ..commit };
            match history.commit(commit).await.map_err(of_store)? {
                CommitOutcome::Applied(_) | CommitOutcome::Replayed(_) => return Ok(()),
                CommitOutcome::Exists { .. } if self.is_stored(&chat, &node.id, &event).await? => {
                    return Ok(());
                }
                // Another event has the id, such as an earlier piece of a stream.
                CommitOutcome::Exists { .. } => {
                    node = Arc::new(Node::new(self.ids.next_id(), message.clone(), at));
                }
                _ => chat = self.chat(identity).await?,
            }
        }
        let message = "other events were appended all the time";
        Err(session(ErrorCategory::Unavailable, "session.busy", message))
    }

    /// Returns whether the active branch has this event under this id.
    async fn is_stored(&self, chat: &Chat, id: &MessageId, event: &Event) -> Result<bool> {
        let chain = self.chain(chat).await?;
        let node = chain.position(id).and_then(|position| chain.get(position));
        let Some(node) = node else { return Ok(false) };
        let stored = serde_json::to_value(event_of(node).map_err(of_json)?).map_err(of_json)?;
        Ok(stored == serde_json::to_value(event).map_err(of_json)?)
    }

    /// Goes back to a point of a session, on a new branch.
    pub(crate) async fn go_back(&self, identity: &AdkIdentity, to: Point<'_>) -> Result<()> {
        let chat = self.chat(identity).await?;
        let chain = self.chain(&chat).await?;
        let mut events = Vec::new();
        for node in chain.iter() {
            if let Some(event) = event_of(node).map_err(of_json)? {
                events.push((node.id.clone(), event.id));
            }
        }
        let missing =
            |message: &str| session(ErrorCategory::NotFound, "session.event_not_found", message);
        let kept = match to {
            Point::Event(id) => {
                let position = events.iter().position(|(_, event)| event == id);
                position.ok_or_else(|| missing("the session has no such event"))? + 1
            }
            Point::Steps(steps) => {
                let kept = events.len().checked_sub(steps);
                kept.ok_or_else(|| missing("the session has fewer events than steps"))?
            }
        };
        if kept == events.len() {
            return Ok(());
        }
        let at = kept.checked_sub(1).map(|last| events[last].0.clone());
        let name = ForkName::NextVersionOf(chat.active);
        let target = Target::Fork { name, at, activate: true };
        let commit = Commit::new(chat.chat, target, self.clock.now());
        match self.store.history().commit(commit).await.map_err(of_store)?.committed() {
            Some(_) => Ok(()),
            None => Err(missing("the session changed")),
        }
    }
}

fn timestamp(at: DateTime<Utc>) -> Timestamp {
    Timestamp::from_micros(at.timestamp_micros())
}
