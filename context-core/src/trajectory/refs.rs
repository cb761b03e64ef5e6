//! Whose rounds: agents of sessions.

use serde::{Deserialize, Serialize};

use crate::base::limits;
use crate::base::shown::clean;
use crate::{ChatRef, Result, SessionId, UserId};

/// An agent of a session. Agent 0 is the main one; sub-agents count from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AgentRef {
    /// Whose session.
    pub user: UserId,
    /// Which session, unique among those of its user.
    pub session: SessionId,
    /// Which agent.
    pub agent: u32,
}

impl AgentRef {
    /// The main agent of a session.
    pub fn main(user: impl Into<UserId>, session: impl Into<SessionId>) -> Self {
        Self::new(user, session, 0)
    }

    /// An agent of a session.
    pub fn new(user: impl Into<UserId>, session: impl Into<SessionId>, agent: u32) -> Self {
        Self { user: user.into(), session: session.into(), agent }
    }

    /// Refuses a bad user or session.
    pub fn check(&self, operation: &'static str) -> Result<()> {
        limits::check_id(operation, "user", self.user.as_str())?;
        limits::check_id(operation, "session", self.session.as_str())
    }

    /// One of its rounds.
    pub fn round(&self, round: u32) -> RoundRef {
        RoundRef { agent: self.clone(), round }
    }
}

impl From<&ChatRef> for AgentRef {
    /// The main agent of the session that is named after a chat.
    fn from(chat: &ChatRef) -> Self {
        Self::main(&chat.user, chat.chat.as_str())
    }
}

/// A round of an agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RoundRef {
    /// Whose.
    #[serde(flatten)]
    pub agent: AgentRef,
    /// Which, from 0.
    pub round: u32,
}

impl std::fmt::Display for RoundRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let AgentRef { session, agent, .. } = &self.agent;
        write!(f, "round {} of agent {agent} of session {}", self.round, clean(session.as_str()))
    }
}
