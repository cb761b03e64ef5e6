//! Under which part of a scope memories are filed.

use context_core::{Error, MemoryScope, Result};

/// Under which part of the scope of a call memories are filed, and so from where they are visible: the program says it, never a model.
///
/// What is asked for and not named by the scope is refused: nothing is filed wider than it was meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Filing {
    /// Under the user, wherever they are.
    User,
    /// Under the user's project. A scope must name one.
    Project,
    /// Under the user's agent, in all projects. A scope must name one.
    Agent,
    /// Under everything the scope names but its session: what is learned in one session is there in the next.
    #[default]
    AcrossSessions,
    /// Under the whole scope, which must name a session.
    Session,
}

impl Filing {
    /// Where something goes that comes from this scope. An error if the scope does not name what it takes, or has a bad name.
    pub fn of(self, scope: &MemoryScope, operation: &'static str) -> Result<MemoryScope> {
        scope.check(operation)?;
        let missing = |what: &'static str| {
            Error::invalid(operation, "the scope does not name what this is filed under")
                .with("missing", what)
        };
        let user = || MemoryScope::new(&scope.user);
        match self {
            Self::User => Ok(user()),
            Self::Project => {
                let project = scope.project.as_ref().ok_or_else(|| missing("project"))?;
                Ok(user().project(project))
            }
            Self::Agent => {
                let agent = scope.agent.as_ref().ok_or_else(|| missing("agent"))?;
                Ok(user().agent(agent))
            }
            Self::AcrossSessions => {
                let mut filed = scope.clone();
                filed.session = None;
                Ok(filed)
            }
            Self::Session if scope.session.is_none() => Err(missing("session")),
            Self::Session => Ok(scope.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filed_is_seen_from_where_it_came_and_never_filed_wider_than_asked() {
        let whole = MemoryScope::new("ada").project("p").agent("a").session("s");
        for filing in [Filing::User, Filing::Project, Filing::Agent, Filing::AcrossSessions, Filing::Session]
        {
            assert!(whole.sees(&filing.of(&whole, "test").unwrap()));
        }
        let user = MemoryScope::new("ada");
        assert_eq!(Filing::AcrossSessions.of(&user.clone().session("s"), "test").unwrap(), user);
        for filing in [Filing::Project, Filing::Agent, Filing::Session] {
            assert_eq!(filing.of(&user, "test").unwrap_err().kind(), context_core::ErrorKind::Invalid);
        }
    }
}
