//! Memory scopes: the owners of memories.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::display::shown;
use crate::base::{MemoryId, limits};
use crate::{Result, SessionId, UserId};

/// The scope of a memory or a query: a user and, optionally, a project, an agent and a session of
/// that user.
///
/// A memory is [visible](Self::sees) from a scope if every field that the memory's scope names has
/// the same value in that scope. So a memory of a user alone is visible from all sessions of the
/// user. A memory of a session is visible only from that session, and not from a scope without a
/// session. No memory is visible to another user.
///
/// ```
/// use context_core::memory::MemoryScope;
///
/// let here = MemoryScope::new("ada").project("trip").session("monday");
/// assert!(here.sees(&MemoryScope::new("ada")) && here.sees(&MemoryScope::new("ada").project("trip")));
/// assert!(!here.sees(&MemoryScope::new("ada").project("taxes")) && !here.sees(&MemoryScope::new("bob")));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemoryScope {
    /// The user.
    pub user: UserId,
    /// The project, such as a folder or a customer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

impl MemoryScope {
    /// Refuses an invalid scope, and invalid or too many ids of its memories.
    pub fn check_ids(&self, operation: &'static str, ids: &[MemoryId]) -> Result<()> {
        self.check(operation)?;
        limits::check_length(operation, "memories", ids.len(), limits::MAX_PAGE)?;
        ids.iter().try_for_each(|id| limits::check_id(operation, "memory", id.as_str()))
    }

    /// Makes the checks of [`check_ids`](Self::check_ids), and refuses too many neighbours.
    pub fn check_neighbours(
        &self,
        operation: &'static str,
        ids: &[MemoryId],
        each_side: usize,
    ) -> Result<()> {
        self.check_ids(operation, ids)?;
        let limit = limits::MAX_MEMORY_NEIGHBOURS;
        limits::check_length(operation, "neighbours", each_side, limit)
    }

    /// Creates the scope of a user.
    pub fn new(user: impl Into<UserId>) -> Self {
        Self { user: user.into(), project: None, agent: None, session: None }
    }

    /// Restricts the scope to a project.
    #[must_use]
    pub fn project(mut self, project: impl Into<String>) -> Self {
        self.project = Some(project.into());
        self
    }

    /// Restricts the scope to an agent.
    #[must_use]
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Restricts the scope to a session.
    #[must_use]
    pub fn session(mut self, session: impl Into<SessionId>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Returns whether memories of another scope are visible from this one: this scope has all the
    /// fields that the other one names, with equal values.
    pub fn sees(&self, other: &Self) -> bool {
        self.user == other.user
            && (other.project.is_none() || other.project == self.project)
            && (other.agent.is_none() || other.agent == self.agent)
            && (other.session.is_none() || other.session == self.session)
    }

    /// Returns whether another scope is part of this one, so that forgetting this scope includes
    /// it.
    pub fn covers(&self, other: &Self) -> bool {
        other.sees(self)
    }

    /// Returns all scopes that are visible from this one, the widest first: at most eight.
    pub fn visible(&self) -> Vec<Self> {
        let mut scopes = vec![Self::new(self.user.clone())];
        let widen = |scopes: &mut Vec<Self>, name: &dyn Fn(Self) -> Self| {
            let narrower: Vec<_> = scopes.iter().cloned().map(name).collect();
            scopes.extend(narrower);
        };
        if let Some(project) = &self.project {
            widen(&mut scopes, &|scope| scope.project(project));
        }
        if let Some(agent) = &self.agent {
            widen(&mut scopes, &|scope| scope.agent(agent));
        }
        if let Some(session) = &self.session {
            widen(&mut scopes, &|scope| scope.session(session));
        }
        scopes
    }

    /// Returns a key that is unique to this scope, for stores: a JSON array of user, project, agent
    /// and session.
    pub fn key(&self) -> String {
        let Self { user, project, agent, session } = self;
        serde_json::to_string(&(user, project, agent, session)).unwrap_or_default()
    }

    /// Refuses a scope with an invalid name.
    pub fn check(&self, operation: &'static str) -> Result<()> {
        limits::check_id(operation, "user", self.user.as_str())?;
        self.project
            .iter()
            .try_for_each(|project| limits::check_id(operation, "project", project))?;
        self.agent.iter().try_for_each(|agent| limits::check_id(operation, "agent", agent))?;
        self.session
            .iter()
            .try_for_each(|session| limits::check_id(operation, "session", session.as_str()))
    }
}

impl fmt::Display for MemoryScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user {}", shown(&self.user))?;
        self.project.iter().try_for_each(|project| write!(f, ", project {}", shown(project)))?;
        self.agent.iter().try_for_each(|agent| write!(f, ", agent {}", shown(agent)))?;
        self.session.iter().try_for_each(|session| write!(f, ", session {}", shown(session)))
    }
}

impl fmt::Debug for MemoryScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_visible_is_what_the_scope_sees() {
        let whole = MemoryScope::new("ada").project("p").agent("a").session("s");
        let visible = whole.visible();
        assert_eq!(visible.len(), 8);
        assert_eq!((&visible[0], &visible[7]), (&MemoryScope::new("ada"), &whole));
        for other in [MemoryScope::new("ada"), MemoryScope::new("ada").session("s"), whole.clone()]
        {
            let seen: Vec<_> = visible.iter().filter(|scope| other.sees(scope)).cloned().collect();
            let mut expected = other.visible();
            expected.retain(|scope| seen.contains(scope));
            assert_eq!(expected, other.visible());
            assert_eq!(seen.len(), other.visible().len());
        }
        assert!(!whole.sees(&MemoryScope::new("bob")));
        assert!(!whole.sees(&MemoryScope::new("ada").agent("b")));
        assert!(!MemoryScope::new("ada").sees(&whole) && MemoryScope::new("ada").covers(&whole));
    }

    #[test]
    fn no_two_scopes_have_one_key() {
        let keys = [
            MemoryScope::new("a").project("b"),
            MemoryScope::new("a").agent("b"),
            MemoryScope::new("a").session("b"),
            MemoryScope::new("a\",\"b"),
            MemoryScope::new("a").project("null"),
            MemoryScope::new("a"),
        ]
        .map(|scope| scope.key());
        assert_eq!(keys[5], r#"["a",null,null,null]"#);
        let different: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!(different.len(), keys.len());
    }
}
