//! Mutants of trajectories.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use context_core::store::{
    MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
    TrajectoryStore,
};
use context_core::trajectory::{
    AgentRef, Change, FieldValue, NodeBody, RoundHead, RoundRecord, TrajectoryNode,
};
use context_core::{ChatId, Json, MessageId, Result, Store, UserId};

use crate::fault::Fault;
use crate::mutant::{BrokenStore, lock};

impl BrokenStore {
    fn ledger(&self) -> &dyn TrajectoryStore {
        self.inner.trajectories().expect("the reference store keeps trajectories")
    }

    /// Returns the agent under which the fault files the rounds of an agent.
    fn place(&self, agent: &AgentRef) -> AgentRef {
        let mut place = agent.clone();
        match self.fault {
            Fault::MixesSessions => place.session = "one for all".into(),
            Fault::MixesAgents => place.agent = 0,
            _ => {}
        }
        place
    }

    fn warped(&self, mut record: RoundRecord) -> RoundRecord {
        let round = record.head.round.round;
        match self.fault {
            Fault::DropsVersions => change_nodes(&mut record, |node| node.versions.clear()),
            Fault::EndsTextsAtNul => change_nodes(&mut record, |node| {
                node.description = node.description.split('\0').next().unwrap_or_default().into();
            }),
            Fault::SortsKeysOfJson => change_nodes(&mut record, |node| {
                let values = node.body.iter().map(|(_, value)| Some(sorted(value)));
                node.body = NodeBody::from_values(node.kind(), values).expect("the forms stay");
            }),
            Fault::LosesLinksOfChangedNodes => change_nodes(&mut record, |node| {
                if !node.versions.is_empty() {
                    node.messages.clear();
                }
            }),
            Fault::DropsReferencesToEarlierRounds => {
                record.edges.retain(|edge| edge.to.round == round)
            }
            Fault::SortsEdges => {
                record.edges.sort_by_key(|edge| (edge.from, edge.to, edge.name.clone()));
            }
            Fault::RoundsTimes => {
                let millis = record.head.updated_at.as_micros().div_euclid(1000);
                record.head.updated_at =
                    context_core::Timestamp::from_micros(millis.saturating_mul(1000));
            }
            Fault::WritesHalfRounds
                if lock(&self.unfinished_rounds).contains(&record.head.round) =>
            {
                record.nodes.pop();
                self.reads_of_halves.fetch_add(1, Ordering::SeqCst);
            }
            _ => {}
        }
        record
    }
}

fn change_nodes(record: &mut RoundRecord, change: impl Fn(&mut TrajectoryNode)) {
    record.nodes.iter_mut().for_each(|node| change(Arc::make_mut(node)));
}

fn sorted(value: &FieldValue) -> FieldValue {
    match value {
        FieldValue::Json(json) => {
            let map: Result<std::collections::BTreeMap<String, Json>, _> = json.parse();
            match map {
                Ok(map) => {
                    FieldValue::Json(Json::from_serialize(&map).expect("a map prints as JSON"))
                }
                Err(_) => value.clone(),
            }
        }
        other => other.clone(),
    }
}

#[async_trait]
impl TrajectoryStore for BrokenStore {
    async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
        let mut commit = commit.clone();
        let round = commit.head.round.clone();
        commit.head.round.agent = self.place(&round.agent);
        if self.is(Fault::ChecksRevisionsThenWrites) {
            let there = self.load_rounds(&round.agent, round.round..=round.round).await?;
            let actual = there.first().map_or(0, |record| record.head.revision);
            tokio::task::yield_now().await;
            if actual == commit.expected {
                let _whatever = self.ledger().record_round(&commit).await;
                return Ok(RecordOutcome::Applied);
            }
        }
        if self.is(Fault::ForgetsRemovals) {
            commit.changes.retain(|change| !matches!(change, Change::NodeRemoved { .. }));
        }
        if self.is(Fault::WritesHalfRounds) {
            lock(&self.unfinished_rounds).insert(round.clone());
            let outcome = self.ledger().record_round(&commit).await;
            self.until_read().await;
            lock(&self.unfinished_rounds).remove(&round);
            return outcome;
        }
        let outcome = self.ledger().record_round(&commit).await?;
        match (self.fault, outcome) {
            (Fault::IgnoresRevisions, RecordOutcome::Conflict { actual }) => {
                (commit.expected, commit.head.revision) = (actual, actual + 1);
                let _whatever = self.ledger().record_round(&commit).await;
                Ok(RecordOutcome::Applied)
            }
            (Fault::HidesTheActualRevision, RecordOutcome::Conflict { .. }) => {
                Ok(RecordOutcome::Conflict { actual: 0 })
            }
            (Fault::ForgetsKeysOfRounds, RecordOutcome::Replayed) => {
                Ok(RecordOutcome::Conflict { actual: commit.head.revision })
            }
            (_, outcome) => Ok(outcome),
        }
    }

    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> Result<Vec<RoundRecord>> {
        let loaded = self.ledger().load_rounds(&self.place(agent), rounds).await?;
        let warped = loaded.into_iter().map(|mut record| {
            record.head.round.agent = agent.clone();
            self.warped(record)
        });
        Ok(warped.collect())
    }

    async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
        let mut page = self.ledger().rounds(query).await?;
        match self.fault {
            Fault::ListingSkipsBetweenPages if query.after.is_some() && !page.items.is_empty() => {
                page.items.remove(0);
            }
            Fault::ListsLowestFirst => page.items.sort_by(|one, other| one.round.cmp(&other.round)),
            Fault::ListsRoundsAtTheEndToo => {
                if let Some(before) = query.before {
                    let mut query = query.clone();
                    query.before = before.checked_add(1);
                    page = self.ledger().rounds(&query).await?;
                }
            }
            _ => {}
        }
        Ok(page)
    }

    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>> {
        let mut nodes = self.ledger().nodes_of_message(user, chat, message).await?;
        if self.is(Fault::SortsNodesAsText) {
            nodes.sort_by_key(|node| (node.agent.clone(), node.node.to_string()));
        }
        Ok(nodes)
    }

    async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
        let mut prune = prune.clone();
        match self.fault {
            Fault::PrunesWhateverItsTime => prune.updated_until = None,
            Fault::PrunesAllAgents => prune.agent = None,
            _ => {}
        }
        self.ledger().prune_rounds(&prune).await
    }
}
