//! Convenience methods over the others: a recorder with defaults, the next round of an agent, and
//! all agents of a session.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use crate::{OpenRound, RecordError, SessionGraph, Trajectories, Trajectory};
use context_core::base::limits;
use context_core::store::RoundQuery;
use context_core::trajectory::AgentRef;
use context_core::{Error, SessionId, Store, UserId};

impl Trajectories {
    /// Creates a recorder on a store with the defaults of the [builder](Self::builder). Fails if
    /// the store does not support trajectories.
    pub fn new(store: Arc<dyn Store>) -> Result<Self, RecordError> {
        Self::builder(store).build()
    }

    /// Opens the round that [`next_round`](Self::next_round) returns. The round is written with its
    /// first change.
    pub async fn begin(&self, agent: &AgentRef) -> Result<OpenRound, RecordError> {
        let newest = self.channels().newest(agent, None).await?;
        self.begin_after(agent, newest.as_ref()).await
    }

    /// Returns all stored agents of a session, side by side, as exports need them.
    /// Fails with [`NotFound`](context_core::ErrorKind::NotFound) if the session has no rounds.
    pub async fn graph(
        &self,
        user: impl Into<UserId>,
        session: impl Into<SessionId>,
    ) -> Result<SessionGraph, RecordError> {
        let (user, session) = (user.into(), session.into());
        let mut agents: BTreeMap<u32, Trajectory> = BTreeMap::new();
        let mut query =
            RoundQuery::of_user(user.clone()).session(session.clone()).limit(limits::MAX_PAGE);
        loop {
            let page = self.rounds(&query).await?;
            for head in page.items {
                let agent = head.round.agent.agent;
                if let Entry::Vacant(free) = agents.entry(agent) {
                    let agent = AgentRef::new(user.clone(), session.clone(), agent);
                    free.insert(self.trajectory(&agent).await?);
                }
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        if agents.is_empty() {
            return Err(Error::not_found("find", "session", &session).with("user", &user).into());
        }
        Ok(SessionGraph::new(user, session, agents).read_at(self.channels().clock.now()))
    }
}

impl OpenRound {
    /// Ends the round as completed: [`close`](Self::close) with
    /// [`Closed`](context_core::trajectory::RoundState::Closed).
    pub async fn finish(&self) -> Result<(), RecordError> {
        self.close(context_core::trajectory::RoundState::Closed).await
    }
}
