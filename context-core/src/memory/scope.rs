//! To whom a memory belongs.

use crate::base::MemoryId;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::limits;
use crate::base::shown::shown;
use crate::{Result, SessionId, UserId};

/// To whom a memory belongs, and from where one is asked for: a user, and within what is theirs a
/// project, an agent and a session, as far as they are named.
///
/// A memory is [visible](Self::sees) from a scope if everything its own scope names, that scope
/// names equally. So what is filed under a user alone is visible from all sessions of that user,
/// what is filed under a session only from that session, and from a scope that names no session
/// nothing is visible that is filed under one. Nothing is visible to another user.
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
    /// Refuses a bad scope, bad names of its memories and too many of them.
    pub fn check_ids(&self, operation: &'static str, ids: &[MemoryId]) -> Result<()> {
        self.check(operation)?;
        limits::check_length(operation, "memories", ids.len(), limits::MAX_PAGE)?;
        ids.iter().try_for_each(|id| limits::check_id(operation, "memory", id.as_str()))
    }

    /// Refuses what [`check_ids`](Self::check_ids) does, and too many neighbours.
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

    /// Of a user, wherever they are.
    pub fn new(user: impl Into<UserId>) -> Self {
        Self { user: user.into(), project: None, agent: None, session: None }
    }

    /// Within a project.
    #[must_use]
    pub fn project(mut self, project: impl Into<String>) -> Self {
        self.project = Some(project.into());
        self
    }

    /// With an agent.
    #[must_use]
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Within a session.
    #[must_use]
    pub fn session(mut self, session: impl Into<SessionId>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Whether what is filed under another scope is visible from this one: all that the other
    /// names, this names equally.
    pub fn sees(&self, filed: &Self) -> bool {
        self.user == filed.user
            && (filed.project.is_none() || filed.project == self.project)
            && (filed.agent.is_none() || filed.agent == self.agent)
            && (filed.session.is_none() || filed.session == self.session)
    }

    /// Whether what is filed under another scope is part of what this one names: what is forgotten
    /// with it.
    pub fn covers(&self, filed: &Self) -> bool {
        filed.sees(self)
    }

    /// All scopes that are visible from this one, the widest first: at most eight.
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

    /// A text that no other scope has, for stores that file by one: a JSON array of the user,
    /// project, agent and session.
    pub fn key(&self) -> String {
        let Self { user, project, agent, session } = self;
        serde_json::to_string(&(user, project, agent, session)).unwrap_or_default()
    }

    /// Refuses a scope with a bad name.
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
            let seen: Vec<_> = visible.iter().filter(|filed| other.sees(filed)).cloned().collect();
            let mut expected = other.visible();
            expected.retain(|filed| seen.contains(filed));
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
