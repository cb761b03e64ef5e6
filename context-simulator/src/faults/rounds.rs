//! The trajectory calls of the fault-injecting store.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use context_core::store::{
    MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
    TrajectoryStore,
};
use context_core::trajectory::{AgentRef, RoundHead, RoundRecord};
use context_core::{ChatId, MessageId, Result, UserId};

use super::plan::Operation;
use super::store::{FaultInjector, lacks};

impl FaultInjector {
    fn trajectory_store(&self) -> Result<&dyn TrajectoryStore> {
        self.inner.trajectories().ok_or_else(|| lacks("trajectories"))
    }
}

#[async_trait]
impl TrajectoryStore for FaultInjector {
    async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
        self.call(Operation::RecordRound, self.trajectory_store()?.record_round(commit)).await
    }

    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> Result<Vec<RoundRecord>> {
        self.call(Operation::LoadRounds, self.trajectory_store()?.load_rounds(agent, rounds)).await
    }

    async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
        self.call(Operation::Rounds, self.trajectory_store()?.rounds(query)).await
    }

    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>> {
        self.call(
            Operation::NodesOfMessage,
            self.trajectory_store()?.nodes_of_message(user, chat, message),
        )
        .await
    }

    async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
        self.call(Operation::PruneRounds, self.trajectory_store()?.prune_rounds(prune)).await
    }
}
