//! Recorded calls of many clients have an order behind the retry layer, which sends calls again
//! whose replies or requests were lost. `CONTEXT_CONFORMANCE_HISTORIES` sets the number of runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use context_conformance::CaseSettings;
use context_conformance::linear::{
    Calm, ClientRun, ClientStore, PlantedFault, PlantedStore, RunFailure, RunNumbers,
};
use context_core::Store;
use context_simulator::faults::{FaultPlan, FaultStore, Operation};
use context_store_inmem::InMemoryStore;
use context_store_layers::{RetryStore, Sleeper};
use context_store_sqlite::{SqliteConfig, SqliteStore};

use crate::fixture::Numbers;

/// The most clients of a run.
const CLIENTS: u64 = 16;
/// The number of faults of a client, among its first calls of each kind.
const FAULTS: usize = 16;
const CALLS: u32 = 6;
/// The number of runs in which a planted fault must be found.
const TRIES: u64 = 60;

/// Counts the retries, and does not wait.
#[derive(Debug, Default)]
struct CountingSleeper(Arc<AtomicU64>);

#[async_trait]
impl Sleeper for CountingSleeper {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep(&self, _: Duration) {
        self.0.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
    }
}

/// Returns a handle for each client: the retry layer over faults over the store.
fn handles(store: &Arc<dyn Store>, seed: u64) -> Vec<ClientStore> {
    let ids = Arc::new(Numbers::default());
    let operations =
        [Operation::WRITES, Operation::STREAMS, Operation::ROUNDS, Operation::MEMORIES];
    let operations = operations.concat();
    let handle = |client| {
        let plan = FaultPlan::random(seed * CLIENTS + client, &operations, CALLS, FAULTS);
        let faulty = Arc::new(FaultStore::new(Arc::clone(store), plan));
        let sleeper = CountingSleeper::default();
        let retries = Arc::clone(&sleeper.0);
        let layer = RetryStore::new(faulty, Arc::clone(&ids) as _).sleeper(Arc::new(sleeper));
        ClientStore::counting(Arc::new(layer), retries)
    };
    (0..CLIENTS).map(handle).collect()
}

#[expect(clippy::print_stdout, reason = "the numbers are said")]
async fn check(cell: &str, store: &Arc<dyn Store>) {
    let settings = CaseSettings::from_env();
    let mut numbers = RunNumbers::default();
    for i in 0..u64::from(settings.histories) {
        let seed = settings.seed.wrapping_add(i);
        let run = ClientRun::new(cell, seed, format!("user {i}"));
        match run.check(&handles(store, seed), &mut Calm).await {
            Ok(more) => numbers.add(more),
            Err(failure) => panic!("{failure}"),
        }
    }
    println!("{cell}: {} runs, {} calls", numbers.runs, numbers.calls);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_that_the_layer_sends_again_have_an_order() {
    let store: Arc<dyn Store> = Arc::new(InMemoryStore::default());
    check("retry layer in memory", &store).await;
    let folder = tempfile::tempdir().unwrap();
    let file = SqliteConfig::new(folder.path().join("retry.db"));
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(file).await.unwrap());
    check("retry layer on SQLite", &store).await;
}

/// The faults are in the store beneath the layer.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn faults_behind_the_layer_are_found() {
    let faults = PlantedFault::CLASSIC.into_iter().chain([PlantedFault::DuplicateWrite]);
    for fault in faults {
        let inner = Arc::new(InMemoryStore::default());
        let store: Arc<dyn Store> = Arc::new(PlantedStore::new(inner, fault));
        let mut failures = Vec::new();
        for seed in 0..TRIES {
            let run = ClientRun::new(format!("{fault:?}"), seed, format!("user {seed}"));
            match run.check(&handles(&store, seed), &mut Calm).await {
                Ok(_) => {}
                Err(failure) => {
                    failures.push(failure);
                    break;
                }
            }
        }
        let found = failures.iter().any(RunFailure::is_violation);
        assert!(found, "{fault:?} was not found in {TRIES} runs: {failures:?}");
    }
}
