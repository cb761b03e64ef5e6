//! A layer over a channel of trajectories, such as local files.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_core::store::{
    MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
    TrajectoryStore,
};
use context_core::trajectory::{AgentRef, RoundHead, RoundRecord};
use context_core::{ChatId, MessageId, Result, UserId};
use context_secrets::{MaskReport, SecretFinder};

use super::{lock, rounds};

/// A channel of trajectories that masks secrets before another one, such as local files, writes
/// them. It masks what [`MaskingStore`](super::MaskingStore) masks of trajectories.
///
/// A recorder with several channels compares their copies. Mask all of them with the same rules, or
/// none: copies that differ count as diverged.
///
/// Clones share counters.
#[derive(Clone)]
pub struct MaskingTrajectories {
    inner: Arc<dyn TrajectoryStore>,
    finder: SecretFinder,
    report: Arc<Mutex<MaskReport>>,
}

impl MaskingTrajectories {
    /// Masks the built-in kinds of secrets.
    pub fn new(inner: Arc<dyn TrajectoryStore>) -> Self {
        Self::with_finder(inner, SecretFinder::default())
    }

    /// Masks what a finder finds, which may have rules of the program.
    pub fn with_finder(inner: Arc<dyn TrajectoryStore>, finder: SecretFinder) -> Self {
        Self { inner, finder, report: Arc::default() }
    }

    /// Returns what was masked, by kind, since the channel was made.
    pub fn report(&self) -> MaskReport {
        lock(&self.report).clone()
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl TrajectoryStore for MaskingTrajectories {
    async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
        let mut report = MaskReport::default();
        let masked = rounds::commit(&self.finder, commit, &mut report)?;
        let outcome = self.inner.record_round(&masked).await?;
        lock(&self.report).merge(&report);
        Ok(outcome)
    }

    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> Result<Vec<RoundRecord>> {
        self.inner.load_rounds(agent, rounds).await
    }

    async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
        self.inner.rounds(query).await
    }

    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>> {
        self.inner.nodes_of_message(user, chat, message).await
    }

    async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
        self.inner.prune_rounds(prune).await
    }
}

impl fmt::Debug for MaskingTrajectories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaskingTrajectories").field("finder", &self.finder).finish_non_exhaustive()
    }
}
