//! The trajectory calls, each forwarded to its implementation.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use context_core::store::{
    MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
    TrajectoryStore,
};
use context_core::trajectory::{AgentRef, RoundHead, RoundRecord};
use context_core::{ChatId, MessageId, Result, UserId};

use crate::error::Fault;
use crate::pool::Work;
use crate::rounds;
use crate::rounds::plan::{Plan, RECORD};
use crate::store::{Shared, work};

#[async_trait]
impl TrajectoryStore for Shared {
    async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
        commit.check()?;
        let plan = Plan::of(commit).map_err(|fault| fault.during(RECORD))?;
        let recorded = self.pool.in_time(rounds::record_at_once(&self.pool, &plan)).await;
        if let Some(outcome) = recorded.map_err(|fault| fault.during(RECORD))? {
            return Ok(outcome);
        }
        work!(self, "record_round", Work::Write, &commit.head.round.agent.user, |session| {
            rounds::record(session, &plan).await
        })
    }

    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> Result<Vec<RoundRecord>> {
        agent.check("load_rounds")?;
        if rounds.is_empty() {
            return Ok(Vec::new());
        }
        work!(self, "load_rounds", Work::Read, &agent.user, |session| {
            rounds::read::load(session, agent, &rounds, None).await
        })
    }

    async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
        query.check()?;
        work!(self, "rounds", Work::Read, &query.user, |session| rounds::list(session, query).await)
    }

    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>> {
        work!(self, "nodes_of_message", Work::Read, user, |session| {
            rounds::of_message(session, user, chat, message).await
        })
    }

    async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
        prune.check()?;
        work!(self, "prune_rounds", Work::Write, &prune.user, |session| {
            rounds::prune(session, prune).await
        })
    }
}
