//! Forwards the calls of trajectories.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use context_core::store::{
    MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
    TrajectoryStore,
};
use context_core::trajectory::{AgentRef, RoundHead, RoundRecord};
use context_core::{ChatId, MessageId, Result, UserId};

use crate::connections::calls::{reading, writing};
use crate::rounds::{self, record};
use crate::store::Shared;

#[async_trait]
impl TrajectoryStore for Shared {
    async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
        commit.check()?;
        writing!(self, "record_round", |writer| record::record(writer, commit).await)
    }

    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> Result<Vec<RoundRecord>> {
        agent.check("load_rounds")?;
        reading!(self, "load_rounds", |reader| rounds::load(reader, agent, rounds.clone()).await)
    }

    async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
        query.check()?;
        reading!(self, "rounds", |reader| rounds::listing::list(reader, query).await)
    }

    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>> {
        reading!(self, "nodes_of_message", |reader| {
            rounds::listing::of_message(reader, user, chat, message).await
        })
    }

    async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
        prune.check()?;
        writing!(self, "prune_rounds", |writer| rounds::listing::prune(writer, prune).await)
    }
}
