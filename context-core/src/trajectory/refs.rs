//! References to agents of sessions and to their rounds.

use serde::{Deserialize, Serialize};

use crate::base::display::clean;
use crate::base::limits;
use crate::{ChatRef, Result, SessionId, UserId};

/// An agent of a session. Agent 0 is the main agent; sub-agents count from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AgentRef {
    /// The owner of the session.
    pub user: UserId,
    /// The session, unique among those of its user.
    pub session: SessionId,
    /// The number of the agent.
    pub agent: u32,
}

impl AgentRef {
    /// Creates a reference to the main agent of a session.
    pub fn main(user: impl Into<UserId>, session: impl Into<SessionId>) -> Self {
        Self::new(user, session, 0)
    }

    /// Creates a reference to an agent of a session.
    pub fn new(user: impl Into<UserId>, session: impl Into<SessionId>, agent: u32) -> Self {
        Self { user: user.into(), session: session.into(), agent }
    }

    /// Refuses an invalid user or session.
    pub fn check(&self, operation: &'static str) -> Result<()> {
        limits::check_id(operation, "user", self.user.as_str())?;
        limits::check_id(operation, "session", self.session.as_str())
    }

    /// Returns a reference to one of the agent's rounds.
    pub fn round(&self, round: u32) -> RoundRef {
        RoundRef { agent: self.clone(), round }
    }
}

impl From<&ChatRef> for AgentRef {
    /// Refers to the main agent of the session that is named after a chat.
    fn from(chat: &ChatRef) -> Self {
        Self::main(&chat.user, chat.chat.as_str())
    }
}

/// A round of an agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RoundRef {
    /// The agent.
    #[serde(flatten)]
    pub agent: AgentRef,
    /// The number of the round, from 0.
    pub round: u32,
}

impl std::fmt::Display for RoundRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let AgentRef { session, agent, .. } = &self.agent;
        write!(f, "round {} of agent {agent} of session {}", self.round, clean(session.as_str()))
    }
}
