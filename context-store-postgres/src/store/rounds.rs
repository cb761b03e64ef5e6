//! The trajectory calls, each forwarded to its implementation.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use context_core::store::{
    MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
    TrajectoryStore,
};
use context_core::trajectory::{AgentRef, RoundHead, RoundRecord};
use context_core::{ChatId, MessageId, Result, UserId};

use crate::connections::{Work, work};
use crate::rounds;
use crate::rounds::plan::{RECORD, RoundPlan};
use crate::store::Shared;

#[async_trait]
impl TrajectoryStore for Shared {
    async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
        commit.check()?;
        let plan = RoundPlan::of(commit).map_err(|fault| fault.during(RECORD))?;
        let recorded =
            self.pool.within_timeout(rounds::record_in_one_statement(&self.pool, &plan)).await;
        if let Some(outcome) = recorded.map_err(|fault| fault.during(RECORD))? {
            return Ok(outcome);
        }
        work!(self.pool, "record_round", Work::Write, &commit.head.round.agent.user, |session| {
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
        work!(self.pool, "load_rounds", Work::Read, &agent.user, |session| {
            rounds::read::load(session, agent, &rounds, None).await
        })
    }

    async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
        query.check()?;
        work!(self.pool, "rounds", Work::Read, &query.user, |session| rounds::list(session, query)
            .await)
    }

    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>> {
        work!(self.pool, "nodes_of_message", Work::Read, user, |session| {
            rounds::of_message(session, user, chat, message).await
        })
    }

    async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
        prune.check()?;
        work!(self.pool, "prune_rounds", Work::Write, &prune.user, |session| {
            rounds::prune(session, prune).await
        })
    }
}
