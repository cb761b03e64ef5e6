//! What the open rounds of one agent share: its earlier rounds, read once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_core::trajectory::AgentRef;
use context_core::trajectory::Round;
use context_core::{Error, ErrorKind};

use crate::RecordError;
use crate::channels::{Channels, graph};

/// The rounds of an agent that were looked at.
pub(crate) struct History {
    agent: AgentRef,
    channels: Arc<Channels>,
    known: Mutex<Known>,
    /// Held by who reads from the channels.
    loading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    /// All rounds with a lower number were asked for.
    upto: u32,
    rounds: BTreeMap<u32, Arc<Round>>,
}

impl History {
    pub(crate) fn new(agent: AgentRef, channels: Arc<Channels>) -> Self {
        Self { agent, channels, known: Mutex::default(), loading: tokio::sync::Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All rounds below a number. Those that are not known yet are read together; others who ask
    /// wait for that.
    pub(crate) async fn below(
        &self,
        number: u32,
    ) -> Result<BTreeMap<u32, Arc<Round>>, RecordError> {
        let _loading = self.loading.lock().await;
        let upto = self.known().upto;
        if upto < number {
            let rounds = self.load(upto, number - 1).await?;
            let mut known = self.known();
            for (number, round) in rounds {
                known.rounds.entry(number).or_insert(round);
            }
            known.upto = number;
        }
        let known = self.known();
        Ok(known.rounds.range(..number).map(|(number, round)| (*number, round.clone())).collect())
    }

    /// One round.
    pub(crate) async fn round(&self, number: u32) -> Result<Option<Arc<Round>>, RecordError> {
        let _loading = self.loading.lock().await;
        {
            let known = self.known();
            if let Some(round) = known.rounds.get(&number) {
                return Ok(Some(round.clone()));
            }
            if number < known.upto {
                return Ok(None);
            }
        }
        let Some(round) = self.load(number, number).await?.pop_first() else { return Ok(None) };
        Ok(Some(self.known().rounds.entry(number).or_insert(round.1).clone()))
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

    /// Which of several rounds it is that cannot be read.
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

    /// A round has changed, and is held by nobody else any more: what is known of it is this. What
    /// is on the way from the channels may be older.
    pub(crate) fn put(&self, round: Arc<Round>) {
        let loading = self.loading.try_lock().is_err();
        let mut known = self.known();
        let number = round.round().round;
        if loading || number < known.upto || known.rounds.contains_key(&number) {
            known.rounds.insert(number, round);
        }
    }
}
