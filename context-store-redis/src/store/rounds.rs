//! The trajectory calls, each forwarded to its implementation.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use context_core::store::{
    MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
    TrajectoryStore,
};
use context_core::trajectory::{AgentRef, RoundHead, RoundRecord};
use context_core::{ChatId, MessageId, UserId};

use crate::connections::shared::Shared;
use crate::keys::Keys;
use crate::rounds::{erase, index, read, write};

#[async_trait]
impl TrajectoryStore for Shared {
    async fn record_round(&self, commit: &RoundCommit) -> context_core::Result<RecordOutcome> {
        commit.check()?;
        write::record(self, commit).await.map_err(|fault| fault.during("record_round"))
    }

    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> context_core::Result<Vec<RoundRecord>> {
        agent.check("load_rounds")?;
        read::load(self, agent, rounds).await.map_err(|fault| fault.during("load_rounds"))
    }

    async fn rounds(&self, query: &RoundQuery) -> context_core::Result<Page<RoundHead>> {
        query.check()?;
        read::list(self, query).await.map_err(|fault| fault.during("rounds"))
    }

    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> context_core::Result<Vec<MessageNode>> {
        let nodes = index::nodes_of_message(self, user, &Keys::message(chat, message)).await;
        nodes.map_err(|fault| fault.during("nodes_of_message"))
    }

    async fn prune_rounds(&self, wanted: &RoundPrune) -> context_core::Result<RoundsPruned> {
        wanted.check()?;
        erase::prune(self, wanted).await.map_err(|fault| fault.during("prune_rounds"))
    }
}
