//! Cases about recorded calls of many clients: some order of the calls explains every reply.

use std::sync::Arc;

use context_simulator::faults::{FaultPlan, FaultStore, Operation};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::linear::{Calm, ClientRun, ClientStore, ProcessRun};
use crate::verdict::{Check, Stop};

cases!("linear":
    calls_of_many_clients_have_an_order,
    calls_through_several_handles_have_an_order if SecondHandle,
    calls_that_are_sent_again_have_an_order,
    calls_with_jumping_clocks_have_an_order,
    calls_of_killed_processes_have_an_order if SecondProcess,
);

/// The number of handles to one store.
const HANDLES: usize = 3;
/// The number of faults of a run, among the first calls of each kind.
const FAULTS: usize = 30;
const FAULTY_CALLS: u32 = 12;

/// Runs as many histories as are asked for.
async fn histories(
    case: &CaseContext,
    cell: &str,
    prepare: impl Fn(ClientRun) -> ClientRun,
    stores: impl Fn(u64) -> Vec<ClientStore>,
) -> Check {
    for i in 0..u64::from(case.settings.histories) {
        let seed = case.settings.seed.wrapping_add(i);
        let cell = format!("{} {cell}", case.subject().name());
        let run = prepare(ClientRun::new(cell, seed, format!("user-{i}")));
        let checked = run.check(&stores(seed), &mut Calm).await;
        checked.map_err(|failure| Stop::Fail(failure.to_string()))?;
    }
    Ok(())
}

async fn calls_of_many_clients_have_an_order(case: &CaseContext) -> Check {
    let stores = [ClientStore::new(case.open("one").await?)];
    histories(case, "one handle", |run| run, |_| stores.to_vec()).await
}

async fn calls_through_several_handles_have_an_order(case: &CaseContext) -> Check {
    let mut stores = vec![ClientStore::new(case.open("several").await?)];
    while stores.len() < HANDLES {
        stores.push(ClientStore::new(case.second_handle("several").await?));
    }
    histories(case, "several handles", |run| run, |_| stores.clone()).await
}

/// Replies and requests are lost, and the clients send their calls again.
async fn calls_that_are_sent_again_have_an_order(case: &CaseContext) -> Check {
    let store = case.open("again").await?;
    let operations =
        [Operation::WRITES, Operation::STREAMS, Operation::ROUNDS, Operation::MEMORIES];
    let operations = operations.concat();
    let stores = |seed| {
        let plan = FaultPlan::random(seed, &operations, FAULTY_CALLS, FAULTS);
        let faulty = FaultStore::new(Arc::clone(&store), plan);
        // The reads at the beginning and at the end go through the handle without faults.
        let sound = ClientStore::new(Arc::clone(&store));
        vec![sound, ClientStore::new(Arc::new(faulty))]
    };
    histories(case, "lost replies", |run| run, stores).await
}

async fn calls_with_jumping_clocks_have_an_order(case: &CaseContext) -> Check {
    let stores = [ClientStore::new(case.open("clocks").await?)];
    histories(case, "jumping clocks", ClientRun::jumps, |_| stores.to_vec()).await
}

/// One of the processes is killed while it makes calls.
async fn calls_of_killed_processes_have_an_order(case: &CaseContext) -> Check {
    let store = case.open("processes").await?;
    let location = case.location("processes")?;
    for i in 0..u64::from(case.settings.histories) {
        let cell = format!("{} killed processes", case.subject().name());
        let seed = case.settings.seed.wrapping_add(i);
        let run = ClientRun::new(cell, seed, format!("user-{i}"));
        let _numbers =
            ProcessRun { run, location: location.clone() }.check(Arc::clone(&store)).await?;
    }
    Ok(())
}
