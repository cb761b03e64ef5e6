//! The owners of session ids, for calls that name a session alone.

use adk_core::identity::AdkIdentity;
use adk_core::{ErrorCategory, Result};
use context_runtime::Metadata;
use context_runtime::store::{ChatPatch, NewChat};
use serde::{Deserialize, Serialize};

use crate::error::{not_found, of_store, session};
use crate::keys;
use crate::service::AdkSessions;

/// An owner of a session id.
#[derive(Deserialize, Serialize)]
struct Owner {
    app: String,
    user: String,
}

impl AdkSessions {
    /// Notes the owner of a session id.
    pub(crate) async fn enter(&self, identity: &AdkIdentity) -> Result<()> {
        let chat = keys::owners(identity.session_id.as_ref());
        let now = self.clock.now();
        let history = self.store.history();
        let _ = history.create_chat(NewChat::new(chat.clone(), now)).await.map_err(of_store)?;
        let owner = Owner {
            app: identity.app_name.as_ref().to_owned(),
            user: identity.user_id.as_ref().to_owned(),
        };
        let value = serde_json::to_value(owner).unwrap_or_default();
        let set = Metadata::default().with(key(identity), value);
        let patch = ChatPatch { set, ..ChatPatch::default() };
        history.update_chat(&chat, &patch, now).await.map_err(of_store)?;
        Ok(())
    }

    /// Removes the owner of a session id.
    pub(crate) async fn leave(&self, identity: &AdkIdentity) -> Result<()> {
        let chat = keys::owners(identity.session_id.as_ref());
        let patch = ChatPatch { remove: vec![key(identity)], ..ChatPatch::default() };
        match self.store.history().update_chat(&chat, &patch, self.clock.now()).await {
            Err(error) if !error.is_not_found() => Err(of_store(error)),
            _ => Ok(()),
        }
    }

    /// Returns the session with this id.
    ///
    /// An id that several users or apps have is an error: the call does not say which is meant.
    pub(crate) async fn owner(&self, session_id: &str) -> Result<AdkIdentity> {
        let chat = self.store.history().chat(&keys::owners(session_id)).await.map_err(of_store)?;
        let chat = chat.ok_or_else(|| not_found(session_id))?;
        let mut owners = chat.metadata.iter().filter_map(|(_, owner)| owner.parse::<Owner>().ok());
        let owner = owners.next().ok_or_else(|| not_found(session_id))?;
        if owners.next().is_some() {
            let message = format!(
                "several apps or users have a session {session_id:?}; name app and user, too"
            );
            return Err(session(ErrorCategory::InvalidInput, "session.ambiguous", message));
        }
        keys::identity(&owner.app, &owner.user, session_id)
    }
}

/// Returns the metadata key of an owner. Lengths keep two owners apart.
fn key(identity: &AdkIdentity) -> String {
    let (app, user) = (identity.app_name.as_ref(), identity.user_id.as_ref());
    format!("{}:{app}:{user}", app.len())
}
