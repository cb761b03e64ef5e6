//! Trajectories: the content of nodes is encrypted. Ids, labels, kinds, edges, measures, times and
//! counts are not.
//!
//! The backend recognizes a repeated commit by its key and the revision of its round, so the commit
//! need not be encrypted with the same key again.

use std::ops::RangeInclusive;
use std::sync::Arc;

use async_trait::async_trait;
use context_core::base::limits;
use context_core::store::{
    Finding, MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
    TrajectoryStore,
};
use context_core::trajectory::{AgentRef, RoundHead, RoundRecord, RoundRef};
use context_core::{CancelSignal, ChatId, MessageId, Result, UserId};

use super::keys::EncryptionKey;
use super::layer::Layer;
use super::record::SealError;
use super::round_forms::{self as forms, OpenValues, SealValues};

#[async_trait]
impl TrajectoryStore for Layer {
    async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
        commit.check()?;
        let sealer = self.sealer_to_write(&commit.head.round.agent.user)?;
        let sealed = seal_commit(sealer.ring.current(), commit);
        let sealed = sealed.map_err(|error| of_round(error, "record_round", &commit.head.round))?;
        self.trajectories()?.record_round(&sealed).await
    }

    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> Result<Vec<RoundRecord>> {
        let stored = self.trajectories()?.load_rounds(agent, rounds).await?;
        stored.into_iter().map(|record| self.open_round("load_rounds", record)).collect()
    }

    async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
        let Page { items, next } = self.trajectories()?.rounds(query).await?;
        let items =
            items.iter().map(|head| self.open_head("rounds", head)).collect::<Result<_>>()?;
        Ok(Page { items, next })
    }

    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>> {
        self.trajectories()?.nodes_of_message(user, chat, message).await
    }

    async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
        self.trajectories()?.prune_rounds(prune).await
    }
}

fn of_round(error: SealError, operation: &'static str, round: &RoundRef) -> context_core::Error {
    error.of(operation, "round", &round.to_string())
}

fn seal_commit(key: &EncryptionKey, commit: &RoundCommit) -> Result<RoundCommit, SealError> {
    let mut sealed = commit.clone();
    let round = &commit.head.round;
    sealed.head = forms::head(&mut SealValues(key), &commit.head)?;
    for change in &mut sealed.changes {
        *change = forms::change(&mut SealValues(key), round, change)?;
    }
    Ok(sealed)
}

impl Layer {
    fn open_head(&self, operation: &'static str, head: &RoundHead) -> Result<RoundHead> {
        let sealer = self.sealer(&head.round.agent.user)?;
        let opened = forms::head(&mut OpenValues(&sealer), head);
        opened.map_err(|error| of_round(error, operation, &head.round))
    }

    fn open_round(&self, operation: &'static str, mut record: RoundRecord) -> Result<RoundRecord> {
        let head = self.open_head(operation, &record.head)?;
        let sealer = self.sealer(&head.round.agent.user)?;
        for node in &mut record.nodes {
            let opened = forms::node(&mut OpenValues(&sealer), &head.round, node);
            let failed = |error| of_round(error, operation, &head.round).with("node", node.id);
            *node = Arc::new(opened.map_err(failed)?);
        }
        record.head = head;
        Ok(record)
    }

    /// Calls a function for each stored round of a user, if there are any. Checks `cancel` between
    /// rounds.
    pub(super) async fn each_stored_round(
        &self,
        operation: &'static str,
        user: &UserId,
        cancel: &CancelSignal,
        mut each: impl FnMut(RoundRecord) -> Result<()> + Send,
    ) -> Result<()> {
        let Some(trajectories) = self.inner.trajectories() else { return Ok(()) };
        let mut query = RoundQuery::of_user(user.clone()).limit(limits::MAX_PAGE);
        loop {
            let Page { items, next } = trajectories.rounds(&query).await?;
            for head in items {
                cancel.check(operation)?;
                let RoundRef { agent, round } = &head.round;
                for record in trajectories.load_rounds(agent, *round..=*round).await? {
                    each(record)?;
                }
            }
            match next {
                Some(next) => query = query.after(Some(next)),
                None => return Ok(()),
            }
        }
    }

    /// Decrypts every round of a user and reports those that cannot be decrypted.
    pub(super) async fn check_rounds(
        &self,
        user: &UserId,
        cancel: &CancelSignal,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        let opened = |record: RoundRecord| {
            let round = record.head.round.clone();
            if let Err(error) = self.open_round("check", record) {
                findings.push(Finding::new(None, &round, error.to_string()));
            }
            Ok(())
        };
        self.each_stored_round("check", user, cancel, opened).await
    }

    /// Returns the number of rounds of a user with a record that does not have the current key.
    pub(super) async fn old_rounds(&self, user: &UserId, cancel: &CancelSignal) -> Result<u64> {
        let sealer = self.sealer(user)?;
        let mut old = 0;
        let count = |record: RoundRecord| {
            let mut is_old = false;
            let inspected = forms::inspect(&record, |sealed| {
                is_old |= !matches!(sealed, Ok(sealed) if !sealer.is_old(&sealed));
            });
            old += u64::from(is_old || inspected.is_err());
            Ok(())
        };
        self.each_stored_round("rotate", user, cancel, count).await?;
        Ok(old)
    }
}
