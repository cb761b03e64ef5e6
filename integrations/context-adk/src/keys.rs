//! The chats in which sessions and their states are.

use adk_core::Result;
use adk_core::identity::{AdkIdentity, AppName, SessionId, UserId};
use context_runtime::ChatRef;

/// The user whose chats hold what belongs to no user: the state of each app, and the owners of
/// session ids.
pub const DIRECTORY: &str = "adk";

/// Checks the names of a session.
pub(crate) fn identity(app: &str, user: &str, session: &str) -> Result<AdkIdentity> {
    let app = AppName::try_from(app)?;
    Ok(AdkIdentity::new(app, UserId::try_from(user)?, SessionId::try_from(session)?))
}

/// Returns the chat of a session.
pub(crate) fn session(identity: &AdkIdentity) -> ChatRef {
    // No app begins with a slash, so no session has the chat of a state.
    let app = identity.app_name.as_ref().replace('%', "%25").replace('/', "%2F");
    ChatRef::new(identity.user_id.as_ref(), format!("{app}/{}", identity.session_id.as_ref()))
}

/// Returns the chat with the state of an app.
pub(crate) fn app_state(app: &str) -> ChatRef {
    ChatRef::new(DIRECTORY, format!("/app/{app}"))
}

/// Returns the chat with the state of a user in an app.
pub(crate) fn user_state(app: &str, user: &str) -> ChatRef {
    ChatRef::new(user, format!("/user/{app}"))
}

/// Returns the chat with the owners of a session id.
pub(crate) fn owners(session: &str) -> ChatRef {
    ChatRef::new(DIRECTORY, format!("/session/{session}"))
}
