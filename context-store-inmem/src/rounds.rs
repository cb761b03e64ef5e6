//! In-memory rounds of trajectories.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use context_core::base::CommitKey;
use context_core::store::{
    Finding, MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
};
use context_core::trajectory::{AgentRef, Round, RoundHead, RoundRecord, TrajectoryError};
use context_core::{ChatId, MessageId, Result, UserId};

#[derive(Debug, Default)]
pub(crate) struct Rounds(BTreeMap<AgentRef, BTreeMap<u32, RoundEntry>>);

#[derive(Debug)]
struct RoundEntry {
    record: RoundRecord,
    /// The key of the last commit.
    key: CommitKey,
}

impl Rounds {
    pub(crate) fn record(&mut self, commit: &RoundCommit) -> Result<RecordOutcome> {
        let reference = &commit.head.round;
        let damaged = |error: TrajectoryError| error.during("record_round");
        let known =
            self.0.get_mut(&reference.agent).and_then(|rounds| rounds.get_mut(&reference.round));
        let actual = known.as_ref().map_or(0, |entry| entry.record.head.revision);
        if let Some(entry) = &known
            && actual == commit.head.revision
            && entry.key == commit.key
        {
            return Ok(RecordOutcome::Replayed);
        }
        if actual != commit.expected {
            return Ok(RecordOutcome::Conflict { actual });
        }
        match known {
            Some(entry) => {
                entry.record.apply(&commit.changes, &commit.head).map_err(damaged)?;
                entry.key = commit.key.clone();
            }
            None => {
                let mut record = RoundRecord::new(commit.head.clone(), Vec::new(), Vec::new());
                record.apply(&commit.changes, &commit.head).map_err(damaged)?;
                let rounds = self.0.entry(reference.agent.clone()).or_default();
                rounds.insert(reference.round, RoundEntry { record, key: commit.key.clone() });
            }
        }
        Ok(RecordOutcome::Applied)
    }

    pub(crate) fn load(&self, agent: &AgentRef, rounds: RangeInclusive<u32>) -> Vec<RoundRecord> {
        // `BTreeMap::range` panics for a range whose start is after its end.
        if rounds.is_empty() {
            return Vec::new();
        }
        let known = self.0.get(agent).into_iter().flat_map(|known| known.range(rounds.clone()));
        known.map(|(_, entry)| entry.record.clone()).collect()
    }

    pub(crate) fn list(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
        let after = query.after_round()?;
        let wanted = |agent: &AgentRef| {
            agent.user == query.user
                && query.session.as_ref().is_none_or(|session| *session == agent.session)
                && query.agent.is_none_or(|number| number == agent.agent)
        };
        let rounds = self.0.iter().filter(|(agent, _)| wanted(agent));
        let heads =
            rounds.flat_map(|(_, rounds)| rounds.values().rev().map(|entry| &entry.record.head));
        let heads =
            heads.filter(|head| query.before.is_none_or(|before| head.round.round < before));
        let mut heads = heads.filter(|head| {
            let RoundHead { round, .. } = head;
            after.as_ref().is_none_or(|(session, agent, number)| {
                let here = (&round.agent.session, round.agent.agent);
                here > (session, *agent) || (here == (session, *agent) && round.round < *number)
            })
        });
        let items: Vec<RoundHead> = heads.by_ref().take(query.limit).cloned().collect();
        let more = heads.next().is_some();
        let next = items.last().filter(|_| more).map(|last| last.round.cursor());
        Ok(Page { items, next })
    }

    pub(crate) fn of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Vec<MessageNode> {
        let theirs = self.0.iter().filter(|(agent, _)| agent.user == *user);
        let nodes = theirs.flat_map(|(agent, rounds)| {
            let nodes = rounds.values().flat_map(|entry| &entry.record.nodes);
            let linked = nodes.filter(|node| {
                node.messages.iter().any(|link| link.chat == *chat && link.message == *message)
            });
            linked.map(|node| MessageNode::new(agent.clone(), node.id))
        });
        nodes.collect()
    }

    pub(crate) fn prune(&mut self, prune: &RoundPrune) -> RoundsPruned {
        let mut pruned = RoundsPruned::default();
        self.0.retain(|_, rounds| {
            rounds.retain(|_, entry| {
                let goes = prune.takes(&entry.record.head);
                if goes {
                    pruned.count(&entry.record.head);
                }
                !goes
            });
            !rounds.is_empty()
        });
        pruned
    }

    pub(crate) fn users(&self) -> impl Iterator<Item = &UserId> {
        self.0.keys().map(|agent| &agent.user)
    }

    /// Returns the number of rounds of a user.
    pub(crate) fn count(&self, user: &UserId) -> u64 {
        let theirs = self.0.iter().filter(|(agent, _)| agent.user == *user);
        theirs.map(|(_, rounds)| rounds.len() as u64).sum()
    }

    pub(crate) fn forget_user(&mut self, user: &UserId) {
        self.0.retain(|agent, _| agent.user != *user);
    }

    pub(crate) fn check(&self) -> (u64, Vec<Finding>) {
        let (mut rounds, mut findings) = (0, Vec::new());
        for entry in self.0.values().flat_map(|rounds| rounds.values()) {
            rounds += 1;
            if let Err(error) = Round::from_record(entry.record.clone()) {
                findings.push(Finding::new(None, &entry.record.head.round, error.to_string()));
            }
        }
        (rounds, findings)
    }
}
