//! Many runs in one call, for tests that bring a disturbance of their own.

use std::sync::Arc;

use context_core::Store;

use super::clients::ClientStore;
use super::nemesis::Nemesis;
use super::planted::{PlantedFault, PlantedStore};
use super::run::{ClientRun, RunNumbers};
use super::violation::RunFailure;
use crate::settings::CaseSettings;

/// The number of runs in which a planted fault must be found.
const TRIES: u64 = 25;

/// One of this many runs may have so many calls with an unknown outcome that the search for an
/// order is given up.
const UNDECIDED: u64 = 50;

/// Runs clients as many times as the settings ask for [histories](CaseSettings::histories), and
/// returns the numbers. Each run has a user of its own, whose name begins with the cell.
///
/// # Panics
///
/// With the failure, if a run fails, or if the search for an order was given up in more than one of
/// 50 runs.
pub async fn assert_linearizable(
    cell: &str,
    stores: &[Arc<dyn Store>],
    nemesis: &mut dyn Nemesis,
    settings: &CaseSettings,
) -> RunNumbers {
    let stores: Vec<_> = stores.iter().cloned().map(ClientStore::new).collect();
    let mut numbers = RunNumbers::default();
    for i in 0..u64::from(settings.histories) {
        let seed = settings.seed.wrapping_add(i);
        let run = ClientRun::new(cell, seed, format!("{cell} {i}"));
        match run.check(&stores, nemesis).await {
            Ok(more) => numbers.add(more),
            Err(RunFailure::Undecided(_)) => {
                let (runs, undecided) = (1, 1);
                numbers.add(RunNumbers { runs, undecided, ..RunNumbers::default() });
            }
            Err(failure) => panic!("{failure}"),
        }
    }
    let most = numbers.runs.div_ceil(UNDECIDED);
    assert!(numbers.undecided <= most, "{cell}: too many searches were given up: {numbers:?}");
    numbers
}

/// Plants a lost update, a stale read and an early acknowledgement in front of a store, and expects
/// the runs to find each. Returns the number of runs that it took.
///
/// # Panics
///
/// If a fault is not found in 25 runs, or a run fails in another way.
pub async fn assert_faults_are_found(
    cell: &str,
    store: &Arc<dyn Store>,
    nemesis: &mut dyn Nemesis,
) -> u64 {
    let mut runs = 0;
    for fault in PlantedFault::CLASSIC {
        let faulty = ClientStore::new(Arc::new(PlantedStore::new(Arc::clone(store), fault)));
        let mut is_found = false;
        for seed in 0..TRIES {
            runs += 1;
            let run = ClientRun::new(cell, seed, format!("{cell} {fault:?} {seed}"));
            match run.check(std::slice::from_ref(&faulty), nemesis).await {
                Ok(_) | Err(RunFailure::Undecided(_)) => {}
                Err(failure) if failure.is_violation() => {
                    is_found = true;
                    break;
                }
                Err(failure) => panic!("{failure}"),
            }
        }
        assert!(is_found, "{cell}: {fault:?} was not found in {TRIES} runs");
    }
    runs
}
