//! The trajectory calls. Each call holds the lock around all chats.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use context_core::store::{
    MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
    TrajectoryStore,
};
use context_core::trajectory::{AgentRef, RoundHead, RoundRecord};
use context_core::{ChatId, MessageId, Result, UserId};

use crate::store::Shared;

#[async_trait]
impl TrajectoryStore for Shared {
    async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
        commit.check()?;
        self.chats_mut("record_round")?.rounds.record(commit)
    }

    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> Result<Vec<RoundRecord>> {
        agent.check("load_rounds")?;
        Ok(self.chats("load_rounds")?.rounds.load(agent, rounds))
    }

    async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
        query.check()?;
        self.chats("rounds")?.rounds.list(query)
    }

    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>> {
        Ok(self.chats("nodes_of_message")?.rounds.of_message(user, chat, message))
    }

    async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
        prune.check()?;
        Ok(self.chats_mut("prune_rounds")?.rounds.prune(prune))
    }
}
