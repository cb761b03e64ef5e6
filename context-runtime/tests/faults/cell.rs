//! One fault on one backend, repeated as configured.

use std::sync::Arc;

use context_core::{ChatRef, Store};
use context_simulator::faults::FaultStore;
use context_simulator::proxy::CuttingProxy;

use crate::backend::{Backend, CellStore};
use crate::error::CellError;
use crate::judge::{AcknowledgedWrites, judge};
use crate::plan::{Fault, Plan, WRITES};
use crate::table::Row;
use crate::writer::{self, Writer};
use crate::{child, numbers, restart};

pub(crate) async fn run(fault: Fault, backend: Backend) -> Result<Row, CellError> {
    if fault == Fault::ServerKilled {
        return restart::run(backend).await;
    }
    let home = CellStore::new(backend).await?;
    let mut row = Row { fault: fault.to_string(), backend: backend.to_string(), ..Row::default() };
    // The first handle creates the store, without faults.
    drop(home.open().await?);
    for n in 0..numbers::runs() {
        let plan = Plan::random(fault, numbers::seed().wrapping_add(n));
        let chat = ChatRef::new("ada", format!("chat-{n}"));
        let acknowledged = match (fault, home.place()) {
            (Fault::ClientKilled, Some(place)) => AcknowledgedWrites {
                least: child::killed(place, &chat, &plan).await?,
                more: 1,
                repeated: 0,
            },
            _ => disturbed(&home, &chat, &plan).await.map_err(|error| story(&plan, &error))?,
        };
        let fresh = home.open().await?;
        let found = writer::read_back(&*fresh, &chat).await?;
        judge(&mut row, &plan, &acknowledged, found);
    }
    let findings = writer::check(&*home.open().await?).await?;
    row.findings = findings.len() as u64;
    row.stories.extend(findings);
    Ok(row)
}

fn story(plan: &Plan, error: &CellError) -> CellError {
    CellError::Story(format!("{error}\nplan {plan}"))
}

/// Writes under the faults of the plan.
async fn disturbed(
    home: &CellStore,
    chat: &ChatRef,
    plan: &Plan,
) -> Result<AcknowledgedWrites, CellError> {
    let server = home.place().and_then(|place| Some((place, place.address()?)));
    let Some((place, address)) = server else {
        let store: Arc<dyn Store> =
            Arc::new(FaultStore::new(home.open().await?, plan.calls.clone()));
        let mut writer = Writer::new(store, chat.clone());
        writer.begin().await?;
        for n in 0..WRITES {
            writer.write(n).await?;
        }
        return Ok(AcknowledgedWrites { least: WRITES, more: 0, repeated: writer.repeated });
    };
    let proxy = CuttingProxy::start(address).await?;
    let store = place.through(proxy.address()).open(true).await?;
    let mut writer = Writer::new(store, chat.clone());
    writer.begin().await?;
    for n in 0..WRITES {
        if plan.at.contains(&n) {
            proxy.set_plan(plan.cuts.clone());
        }
        writer.write(n).await?;
    }
    Ok(AcknowledgedWrites { least: WRITES, more: 0, repeated: writer.repeated })
}
