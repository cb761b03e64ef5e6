//! The check of histories finds planted faults in each dimension that needs no server, and prints
//! what a person needs to see them. Dimensions with servers are in the tests of their stores.

use std::sync::Arc;

use context_conformance::linear::{
    Calm, ClientRun, ClientStore, PlantedFault, PlantedStore, RunFailure,
};
use context_core::Store;
use context_simulator::faults::{FaultPlan, FaultStore, Operation};
use context_store_inmem::InMemoryStore;

/// The number of runs in which a fault must be found.
const RUNS: u64 = 40;

type Handles = fn(Arc<dyn Store>, PlantedFault, u64) -> Vec<ClientStore>;

fn planted(store: &Arc<dyn Store>, fault: PlantedFault) -> Arc<dyn Store> {
    Arc::new(PlantedStore::new(Arc::clone(store), fault))
}

/// One handle for all clients.
fn one(store: Arc<dyn Store>, fault: PlantedFault, _: u64) -> Vec<ClientStore> {
    vec![ClientStore::new(planted(&store, fault))]
}

/// Three handles, of which one has the fault.
fn several(store: Arc<dyn Store>, fault: PlantedFault, _: u64) -> Vec<ClientStore> {
    let sound = ClientStore::new(Arc::clone(&store));
    vec![sound.clone(), ClientStore::new(planted(&store, fault)), sound]
}

/// Lost replies and lost requests in front of the fault.
fn lost(store: Arc<dyn Store>, fault: PlantedFault, seed: u64) -> Vec<ClientStore> {
    let plan = FaultPlan::random(seed, Operation::WRITES, 12, 30);
    let faulty = FaultStore::new(planted(&store, fault), plan);
    vec![ClientStore::new(Arc::clone(&store)), ClientStore::new(Arc::new(faulty))]
}

/// Lost replies of commits in front of the fault.
fn lost_commits(store: Arc<dyn Store>, fault: PlantedFault, seed: u64) -> Vec<ClientStore> {
    let plan = FaultPlan::random(seed, &[Operation::Commit], 30, 15);
    vec![ClientStore::new(Arc::new(FaultStore::new(planted(&store, fault), plan)))]
}

/// Runs clients on new stores until a run finds the fault, and returns the failure.
async fn found(handles: Handles, jumps: bool, fault: PlantedFault) -> RunFailure {
    for seed in 0..RUNS {
        let store: Arc<dyn Store> = Arc::new(InMemoryStore::default());
        let run = ClientRun::new(format!("{fault:?}"), seed, "ada");
        let run = if jumps { run.jumps() } else { run };
        match run.check(&handles(store, fault, seed), &mut Calm).await {
            Ok(_) => {}
            Err(failure) if failure.is_violation() => return failure,
            Err(failure) => panic!("{failure}"),
        }
    }
    panic!("{fault:?} was not found in {RUNS} runs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn classic_faults_are_found_in_each_dimension() {
    for fault in PlantedFault::CLASSIC {
        for (handles, jumps) in
            [(one as Handles, false), (several, false), (lost, false), (one, true)]
        {
            found(handles, jumps, fault).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_commit_that_is_written_twice_is_found() {
    found(lost_commits, false, PlantedFault::DuplicateWrite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_update_that_a_late_clock_loses_is_found() {
    found(one, true, PlantedFault::LatestClockWins).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_failure_shows_the_seed_and_a_short_history() {
    let failure = found(one, false, PlantedFault::StaleRead).await;
    let text = failure.to_string();
    assert!(text.contains("cell StaleRead, seed 0x"), "{text}");
    assert!(text.contains("again: CONTEXT_CONFORMANCE_SEED=0x"), "{text}");
    let RunFailure::NotLinearizable(shown) = failure else { panic!("{text}") };
    let reads = text.lines().filter(|line| line.contains("  ReadChain {")).count();
    // All reads but those that show the fault are left out.
    assert!((1..=2).contains(&reads) && shown.len() < 60, "{text}");
}
