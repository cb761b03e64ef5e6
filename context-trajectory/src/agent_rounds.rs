//! A cache of the earlier rounds of an agent, read once and shared by its open rounds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_core::trajectory::{AgentRef, Round};
use context_core::{Error, ErrorKind};

use crate::RecordError;
use crate::channels::{Channels, graph};

/// A cache of the rounds of one agent.
pub(crate) struct AgentRounds {
    agent: AgentRef,
    channels: Arc<Channels>,
    loaded: Mutex<LoadedRounds>,
    /// Held while reading from the channels.
    loading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct LoadedRounds {
    /// All rounds with a lower number have been loaded.
    upto: u32,
    rounds: BTreeMap<u32, Arc<Round>>,
}

impl AgentRounds {
    pub(crate) fn new(agent: AgentRef, channels: Arc<Channels>) -> Self {
        Self { agent, channels, loaded: Mutex::default(), loading: tokio::sync::Mutex::default() }
    }

    fn loaded(&self) -> MutexGuard<'_, LoadedRounds> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all rounds below a number. Missing rounds are loaded in one read; concurrent callers
    /// wait for that read.
    pub(crate) async fn below(
        &self,
        number: u32,
    ) -> Result<BTreeMap<u32, Arc<Round>>, RecordError> {
        let _loading = self.loading.lock().await;
        let upto = self.loaded().upto;
        if upto < number {
            let rounds = self.load(upto, number - 1).await?;
            let mut loaded = self.loaded();
            for (number, round) in rounds {
                loaded.rounds.entry(number).or_insert(round);
            }
            loaded.upto = number;
        }
        let loaded = self.loaded();
        Ok(loaded.rounds.range(..number).map(|(number, round)| (*number, round.clone())).collect())
    }

    /// Returns one round.
    pub(crate) async fn round(&self, number: u32) -> Result<Option<Arc<Round>>, RecordError> {
        let _loading = self.loading.lock().await;
        {
            let loaded = self.loaded();
            if let Some(round) = loaded.rounds.get(&number) {
                return Ok(Some(round.clone()));
            }
            if number < loaded.upto {
                return Ok(None);
            }
        }
        let Some(round) = self.load(number, number).await?.pop_first() else { return Ok(None) };
        Ok(Some(self.loaded().rounds.entry(number).or_insert(round.1).clone()))
    }

    async fn load(&self, first: u32, last: u32) -> Result<BTreeMap<u32, Arc<Round>>, RecordError> {
        let records = match self.channels.load(&self.agent, first..=last).await {
            Ok(records) => records,
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                return Err(self.name_damaged(first, last, error).await);
            }
            Err(error) => return Err(error.into()),
        };
        records.into_iter().map(|(number, record)| Ok((number, Arc::new(graph(record)?)))).collect()
    }

    /// Finds out which of several rounds cannot be read.
    async fn name_damaged(&self, first: u32, last: u32, error: Error) -> RecordError {
        let numbers = match first == last {
            true => Ok(vec![first]),
            false => self.channels.numbers(&self.agent, first..=last).await,
        };
        for number in numbers.unwrap_or_default() {
            if let Err(error) = self.channels.load(&self.agent, number..=number).await {
                return RecordError::damaged(&self.agent.round(number), error);
            }
        }
        error.into()
    }

    /// Stores the latest state of a round that leaves the cache of open rounds. A read that is in
    /// progress may return an older state, so the round is stored in that case too.
    pub(crate) fn put(&self, round: Arc<Round>) {
        let loading = self.loading.try_lock().is_err();
        let mut loaded = self.loaded();
        let number = round.round().round;
        if loading || number < loaded.upto || loaded.rounds.contains_key(&number) {
            loaded.rounds.insert(number, round);
        }
    }
}
