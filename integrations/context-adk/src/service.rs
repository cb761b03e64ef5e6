//! The session service.

use std::fmt;
use std::sync::Arc;

use adk_core::identity::AdkIdentity;
use adk_core::{ErrorCategory, Result};
use adk_session::{
    AppendEventRequest, CreateRequest, DeleteRequest, Event, GetRequest, ListRequest, Session,
    SessionService, extract_state_deltas,
};
use async_trait::async_trait;
use context_runtime::store::{ChatQuery, Created, NewChat};
use context_runtime::{Clock, IdGenerator, Json, Store, SystemClock, Uuid7Ids};
use serde_json::Value;

use crate::error::{of_store, session};
use crate::events::Point;
use crate::{keys, state};

/// The metadata keys of a session's chat: its app, by which sessions are listed, and its id.
const APP: &str = "adk_app";
const SESSION: &str = "adk_session";

/// The sessions of all apps and users, kept in a store of the context layer. See the
/// [crate](crate).
///
/// Cheap to clone. Any number of services, in any number of processes, may use the same store.
#[derive(Clone)]
pub struct AdkSessions {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdGenerator>,
}

impl AdkSessions {
    /// Creates the service over a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, clock: Arc::new(SystemClock), ids: Arc::new(Uuid7Ids) }
    }

    /// Replaces the clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Replaces the generator of ids.
    #[must_use]
    pub fn ids(mut self, ids: Arc<dyn IdGenerator>) -> Self {
        self.ids = ids;
        self
    }

    /// Returns the sessions of a user in an app, those with the newest activity first.
    async fn identities(
        &self,
        app: &str,
        user: &str,
        skip: usize,
        take: usize,
    ) -> Result<Vec<AdkIdentity>> {
        keys::identity(app, user, "any")?;
        let filter = (APP.to_owned(), Json::from(app));
        let mut query = ChatQuery { metadata: vec![filter], ..ChatQuery::new(user) };
        let (mut found, wanted) = (Vec::new(), skip.saturating_add(take));
        loop {
            let page = self.store.history().list_chats(&query).await.map_err(of_store)?;
            for summary in page.items {
                if let Some(id) = summary.chat.metadata.get(SESSION).and_then(Json::to_text) {
                    found.push(keys::identity(app, user, &id)?);
                }
            }
            query.after = page.next;
            if query.after.is_none() || found.len() >= wanted {
                break;
            }
        }
        Ok(found.into_iter().skip(skip).take(take).collect())
    }

    async fn boxed(&self, identity: &AdkIdentity) -> Result<Box<dyn Session>> {
        Ok(Box::new(self.read(identity).await?))
    }
}

#[async_trait]
impl SessionService for AdkSessions {
    async fn create(&self, req: CreateRequest) -> Result<Box<dyn Session>> {
        let CreateRequest { app_name, user_id, session_id, state } = req;
        let id = session_id.unwrap_or_else(|| self.ids.next_id());
        let identity = keys::identity(&app_name, &user_id, &id)?;
        let (of_app, of_user, of_session) = extract_state_deltas(&state);
        let mut new = NewChat::new(keys::session(&identity), self.clock.now());
        new.metadata = state::metadata(of_session)
            .with(APP, Value::from(app_name.as_str()))
            .with(SESSION, Value::from(id.as_str()));
        let exists = || {
            let message = format!("there is a session {id:?} of this app and user");
            session(ErrorCategory::InvalidInput, "session.exists", message)
        };
        let history = self.store.history();
        if history.chat(&new.chat).await.map_err(of_store)?.is_some() {
            return Err(exists());
        }
        // The session comes last, so that one that exists has everything that belongs to it.
        self.enter(&identity).await?;
        self.change_state(&keys::app_state(&app_name), of_app).await?;
        self.change_state(&keys::user_state(&app_name, &user_id), of_user).await?;
        if let Created::Existing(_) = history.create_chat(new).await.map_err(of_store)? {
            return Err(exists());
        }
        self.boxed(&identity).await
    }

    async fn get(&self, req: GetRequest) -> Result<Box<dyn Session>> {
        let identity = keys::identity(&req.app_name, &req.user_id, &req.session_id)?;
        let mut read = self.read(&identity).await?;
        let events = &mut read.events.0;
        if let Some(recent) = req.num_recent_events {
            events.drain(..events.len().saturating_sub(recent));
        }
        if let Some(after) = req.after {
            events.retain(|event| event.timestamp >= after);
        }
        Ok(Box::new(read))
    }

    async fn list(&self, req: ListRequest) -> Result<Vec<Box<dyn Session>>> {
        let (skip, take) = (req.offset.unwrap_or(0), req.limit.unwrap_or(usize::MAX));
        let mut sessions = Vec::new();
        for identity in self.identities(&req.app_name, &req.user_id, skip, take).await? {
            match self.read_alone(&identity).await {
                Ok(session) => sessions.push(Box::new(session) as Box<dyn Session>),
                Err(error) if error.is_not_found() => {} // deleted since it was listed
                Err(error) => return Err(error),
            }
        }
        Ok(sessions)
    }

    async fn delete(&self, req: DeleteRequest) -> Result<()> {
        let identity = keys::identity(&req.app_name, &req.user_id, &req.session_id)?;
        let chat = keys::session(&identity);
        self.store.history().delete_chat(&chat, None).await.map_err(of_store)?;
        self.leave(&identity).await
    }

    async fn append_event(&self, session_id: &str, event: Event) -> Result<()> {
        let identity = self.owner(session_id).await?;
        self.append(&identity, event).await
    }

    async fn append_event_for_identity(&self, req: AppendEventRequest) -> Result<()> {
        self.append(&req.identity, req.event).await
    }

    async fn delete_all_sessions(&self, app_name: &str, user_id: &str) -> Result<()> {
        for identity in self.identities(app_name, user_id, 0, usize::MAX).await? {
            self.delete_for_identity(&identity).await?;
        }
        Ok(())
    }

    async fn rewind(&self, session_id: &str, target_event_id: &str) -> Result<Box<dyn Session>> {
        let identity = self.owner(session_id).await?;
        self.go_back(&identity, Point::Event(target_event_id)).await?;
        self.boxed(&identity).await
    }

    async fn rewind_steps(&self, session_id: &str, steps: usize) -> Result<Box<dyn Session>> {
        let identity = self.owner(session_id).await?;
        self.go_back(&identity, Point::Steps(steps)).await?;
        self.boxed(&identity).await
    }

    async fn health_check(&self) -> Result<()> {
        self.read_state(&keys::app_state("health")).await.map(drop)
    }
}

impl fmt::Debug for AdkSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = self.store.info().name;
        f.debug_struct("AdkSessions").field("store", &store).finish_non_exhaustive()
    }
}
