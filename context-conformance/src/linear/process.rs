//! Clients in several processes, some of which are killed, on one store.

use std::path::PathBuf;
use std::sync::Arc;

use context_core::Store;
use context_simulator::Random;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use super::clients::{Arena, ClientStore};
use super::history::CallLog;
use super::run::{ClientRun, RunNumbers};
use super::violation::RunFailure;
use crate::child::{Task, Work};
use crate::verdict::{Check, Stop};
use crate::worker::Worker;

/// The number of processes of a run.
const PROCESSES: usize = 2;

/// The clients of one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ClientTask {
    seed: u64,
    user: String,
    /// The number of the process, from 1.
    process: usize,
    /// The log that all processes append to.
    log: PathBuf,
}

impl ClientTask {
    /// Makes the calls. `called` learns of the end of each.
    pub(crate) async fn live(
        &self,
        store: Arc<dyn Store>,
        called: impl Fn() -> Check + Clone + Send + 'static,
    ) -> Check {
        let run = ClientRun::new("", self.seed, &*self.user);
        let log = CallLog::shared(&self.log).map_err(|error| Stop::Fail(error.to_string()))?;
        let arena = Arc::new(Arena::new(&run, log, self.process as u64));
        let store = ClientStore::new(store);
        let (clients, each) = run.size();
        let mut tasks = JoinSet::new();
        for client in (0..clients).filter(|client| client % PROCESSES == self.process - 1) {
            let (arena, store, called) = (Arc::clone(&arena), store.clone(), called.clone());
            let seed = run.seed_of(client);
            tasks.spawn(async move { arena.live(&store, (client, seed), each, called).await });
        }
        while let Some(lived) = tasks.join_next().await {
            lived.map_err(|error| Stop::Fail(format!("a client: {error}")))??;
        }
        Ok(())
    }
}

/// A run whose clients are in processes of their own.
pub(crate) struct ProcessRun {
    pub(crate) run: ClientRun,
    /// The location of the store, for the processes.
    pub(crate) location: String,
}

impl ProcessRun {
    /// Runs the processes, kills one of them, and checks the calls that they recorded.
    pub(crate) async fn check(&self, store: Arc<dyn Store>) -> Check<RunNumbers> {
        let failed = |failure: RunFailure| Stop::Fail(failure.to_string());
        let broken = |error: std::io::Error| Stop::Fail(format!("the log of the calls: {error}"));
        let folder = tempfile::tempdir().map_err(broken)?;
        let path = folder.path().join("calls");
        let log = CallLog::shared(&path).map_err(broken)?;
        let arena = Arena::new(&self.run, log, 0);
        let store = ClientStore::new(store);
        arena.begin(&store).await.map_err(failed)?;
        let start = |process| {
            let (seed, user, log) = (self.run.seed, self.run.user.clone(), path.clone());
            let work = Work::Clients(ClientTask { seed, user, process, log });
            Worker::start(&Task { location: self.location.clone(), work })
        };
        let killed = start(1)?;
        let mut others = (2..=PROCESSES).map(start).collect::<Check<Vec<_>>>()?;
        others.iter_mut().try_for_each(Worker::go)?;
        let (clients, each) = self.run.size();
        let mut random = Random::new(self.run.seed_of(clients));
        let calls = random.below(each * clients.div_ceil(PROCESSES));
        killed.killed_after(calls, random.below(200_000)).await?;
        for other in others {
            other.ended().await?;
        }
        arena.end(&store).await.map_err(failed)?;
        let calls = CallLog::read(&path).map_err(broken)?;
        self.run.judge(&calls, clients).map_err(failed)
    }
}
