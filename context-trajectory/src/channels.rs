//! The channels of a recorder: one store or several, each with a complete copy.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use context_core::base::limits;
use context_core::store::{Cursor, RecordOutcome, RoundQuery, TrajectoryStore};
use context_core::trajectory::{AgentRef, Round, RoundHead, RoundRecord, RoundRef};
use context_core::{Clock, Error, ErrorKind, IdGenerator, Result, Store};
use futures_util::future::{join_all, try_join_all};

use crate::{RecordError, catch_up};

/// A place where rounds are stored.
#[derive(Clone)]
pub(crate) enum Channel {
    /// A store with the trajectory ability.
    Store(Arc<dyn Store>),
    /// A backend that stores nothing but rounds.
    Trajectories(Arc<dyn TrajectoryStore>),
}

impl Channel {
    /// Returns whether both are the same instance of a store.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self.address(), other.address())
    }

    fn address(&self) -> *const () {
        match self {
            Self::Store(store) => Arc::as_ptr(store).cast(),
            Self::Trajectories(store) => Arc::as_ptr(store).cast(),
        }
    }

    pub(crate) fn store(&self) -> Result<&dyn TrajectoryStore> {
        match self {
            Self::Trajectories(store) => Ok(&**store),
            Self::Store(store) => store.trajectories().ok_or_else(|| {
                Error::new(
                    ErrorKind::Unsupported,
                    "trajectories",
                    "the store keeps no trajectories",
                )
                .with("store", store.info().name)
            }),
        }
    }
}

/// All channels in order, with the clock and the generator of commit keys.
pub(crate) struct Channels {
    pub(crate) all: Vec<Channel>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) keys: Arc<dyn IdGenerator>,
}

impl Channels {
    /// Returns the highest round of an agent, optionally below a number.
    pub(crate) async fn newest(
        &self,
        agent: &AgentRef,
        before: Option<u32>,
    ) -> Result<Option<RoundHead>> {
        let mut query = RoundQuery::of_agent(agent).limit(1);
        query.before = before;
        let query = &query;
        let pages = join_all(
            self.all.iter().map(|channel| async move { channel.store()?.rounds(query).await }),
        );
        let mut newest: Option<RoundHead> = None;
        for page in pages.await {
            let head = page?.items.into_iter().next();
            let rank = |head: &RoundHead| (head.round.round, head.revision);
            if head.as_ref().map(rank) > newest.as_ref().map(rank) {
                newest = head;
            }
        }
        Ok(newest)
    }

    /// Returns the most recently written copy of a round, and brings channels up to date that lack
    /// part of it.
    pub(crate) async fn restore(
        &self,
        round: &RoundRef,
    ) -> Result<Option<RoundRecord>, RecordError> {
        let number = round.round..=round.round;
        let loads = self.all.iter().map(|channel| {
            let number = number.clone();
            async move { channel.store()?.load_rounds(&round.agent, number).await }
        });
        let mut records = Vec::with_capacity(self.all.len());
        for loaded in join_all(loads).await {
            let loaded = loaded.map_err(|error| match error.kind() {
                ErrorKind::Corrupt => RecordError::damaged(round, error),
                _ => error.into(),
            })?;
            records.push(loaded.into_iter().find(|record| record.head.round == *round));
        }
        let newest = records.iter().flatten().map(|record| record.head.revision).max();
        let Some(newest) = newest else { return Ok(None) };
        let best = records.iter().flatten().find(|record| record.head.revision == newest);
        let best = best.cloned().expect("one of them is the newest");
        for (channel, record) in self.all.iter().zip(records) {
            if record.as_ref() == Some(&best) {
                continue;
            }
            let commits = catch_up::commits(record, &best, &*self.keys)
                .ok_or_else(|| RecordError::Diverged { round: Box::new(round.clone()) })?;
            for commit in commits {
                match channel.store()?.record_round(&commit).await? {
                    RecordOutcome::Applied | RecordOutcome::Replayed => {}
                    _ => return Err(RecordError::superseded(round)),
                }
            }
        }
        Ok(Some(best))
    }

    /// Loads rounds of an agent, each from the channel with the most recently written copy.
    pub(crate) async fn load(
        &self,
        agent: &AgentRef,
        range: RangeInclusive<u32>,
    ) -> Result<BTreeMap<u32, RoundRecord>> {
        let by_number =
            |records: Vec<RoundRecord>| records.into_iter().map(|it| (it.head.round.round, it));
        let Some((first, others)) = self.all.split_first() else { return Ok(BTreeMap::new()) };
        let mut rounds: BTreeMap<u32, RoundRecord> =
            by_number(first.store()?.load_rounds(agent, range.clone()).await?).collect();
        for channel in others {
            let store = channel.store()?;
            let newer = heads(store, agent, &range).await?.into_iter().filter(|head| {
                let known = rounds.get(&head.round.round);
                known.is_none_or(|known| known.head.revision < head.revision)
            });
            for run in runs(newer.map(|head| head.round.round).collect()) {
                rounds.extend(by_number(store.load_rounds(agent, run).await?));
            }
        }
        Ok(rounds)
    }

    /// Returns the numbers of an agent's rounds in a range.
    pub(crate) async fn numbers(
        &self,
        agent: &AgentRef,
        range: RangeInclusive<u32>,
    ) -> Result<Vec<u32>> {
        let range = &range;
        let lists = self
            .all
            .iter()
            .map(|channel| async move { heads(channel.store()?, agent, range).await });
        let heads = try_join_all(lists).await?.into_iter().flatten();
        let mut numbers: Vec<u32> = heads.map(|head| head.round.round).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }

    /// Lists the heads of rounds in listing order, each from the channel with the most recently
    /// written copy.
    pub(crate) async fn list(
        &self,
        query: &RoundQuery,
    ) -> Result<(Vec<RoundHead>, Option<Cursor>)> {
        let pages =
            self.all.iter().map(|channel| async move { channel.store()?.rounds(query).await });
        let pages = try_join_all(pages).await?;
        // A page that was cut says nothing about the rounds behind its end, so rounds of the other
        // channels behind that point are left to the next page.
        type ListPosition = (context_core::SessionId, u32, std::cmp::Reverse<u32>);
        let position = |head: &RoundHead| -> ListPosition {
            let RoundRef { agent, round } = &head.round;
            (agent.session.clone(), agent.agent, std::cmp::Reverse(*round))
        };
        let cut = pages.iter().filter(|page| page.next.is_some());
        let end = cut.filter_map(|page| page.items.last().map(position)).min();
        let mut merged: BTreeMap<ListPosition, RoundHead> = BTreeMap::new();
        for head in pages.iter().flat_map(|page| &page.items) {
            let at = position(head);
            if end.as_ref().is_none_or(|end| at <= *end)
                && merged.get(&at).is_none_or(|known| known.revision < head.revision)
            {
                merged.insert(at, head.clone());
            }
        }
        let mut heads: Vec<RoundHead> = merged.into_values().collect();
        let more = end.is_some() || heads.len() > query.limit;
        heads.truncate(query.limit);
        let next = heads.last().filter(|_| more).map(|last| last.round.cursor());
        Ok((heads, next))
    }
}

/// Builds the graph of a record. The error for a damaged record names the round.
pub(crate) fn graph(record: RoundRecord) -> Result<Round, RecordError> {
    let round = record.head.round.clone();
    Round::from_record(record)
        .map_err(|error| RecordError::damaged(&round, error.during("load_rounds")))
}

async fn heads(
    store: &dyn TrajectoryStore,
    agent: &AgentRef,
    range: &RangeInclusive<u32>,
) -> Result<Vec<RoundHead>> {
    let rounds = usize::try_from(range.end().saturating_sub(*range.start())).unwrap_or(usize::MAX);
    let limit = rounds.saturating_add(2).min(limits::MAX_PAGE);
    let mut query = RoundQuery::of_agent(agent).limit(limit);
    query.before = range.end().checked_add(1);
    let mut heads = Vec::new();
    loop {
        let page = store.rounds(&query).await?;
        let below = page.items.last().is_none_or(|last| last.round.round < *range.start());
        heads.extend(page.items.into_iter().filter(|head| range.contains(&head.round.round)));
        if below || page.next.is_none() {
            return Ok(heads);
        }
        query.after = page.next;
    }
}

/// Groups numbers into ranges of consecutive numbers.
fn runs(mut numbers: Vec<u32>) -> Vec<RangeInclusive<u32>> {
    numbers.sort_unstable();
    let mut runs: Vec<RangeInclusive<u32>> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some(run) if run.end().checked_add(1) == Some(number) => *run = *run.start()..=number,
            _ => runs.push(number..=number),
        }
    }
    runs
}
