//! A session that was read.

use std::collections::HashMap;

use adk_core::identity::AdkIdentity;
use adk_session::{Event, Events, Session, State};
use chrono::{DateTime, Utc};
use serde_json::Value;

/// A session as it was when it was read. Changes of its state are kept in memory only; what is
/// stored changes with the next event.
pub(crate) struct ReadSession {
    pub(crate) identity: AdkIdentity,
    pub(crate) state: ReadState,
    pub(crate) events: ReadEvents,
    pub(crate) updated_at: DateTime<Utc>,
}

/// The states of all scopes, with their prefixes.
pub(crate) struct ReadState(pub(crate) HashMap<String, Value>);

/// The events, oldest first.
pub(crate) struct ReadEvents(pub(crate) Vec<Event>);

impl Session for ReadSession {
    fn id(&self) -> &str {
        self.identity.session_id.as_ref()
    }

    fn app_name(&self) -> &str {
        self.identity.app_name.as_ref()
    }

    fn user_id(&self) -> &str {
        self.identity.user_id.as_ref()
    }

    fn state(&self) -> &dyn State {
        &self.state
    }

    fn events(&self) -> &dyn Events {
        &self.events
    }

    fn last_update_time(&self) -> DateTime<Utc> {
        self.updated_at
    }
}

impl State for ReadState {
    fn get(&self, key: &str) -> Option<Value> {
        self.0.get(key).cloned()
    }

    fn set(&mut self, key: String, value: Value) {
        self.0.insert(key, value);
    }

    fn all(&self) -> HashMap<String, Value> {
        self.0.clone()
    }
}

impl Events for ReadEvents {
    fn all(&self) -> Vec<Event> {
        self.0.clone()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn at(&self, index: usize) -> Option<&Event> {
        self.0.get(index)
    }
}
