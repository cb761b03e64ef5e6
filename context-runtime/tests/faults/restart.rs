//! A server that is killed and restarted while a client writes.

use context_core::ChatRef;

use crate::backend::{Backend, KillableServer};
use crate::error::CellError;
use crate::judge::{AcknowledgedWrites, judge};
use crate::numbers;
use crate::plan::{Fault, Plan, WRITES};
use crate::table::Row;
use crate::writer::{self, Writer};

pub(crate) async fn run(backend: Backend) -> Result<Row, CellError> {
    let mut row = Row {
        fault: Fault::ServerKilled.to_string(),
        backend: backend.to_string(),
        ..Row::default()
    };
    let Some(mut server) = KillableServer::start(backend)? else { return Ok(row) };
    let place = server.place();
    drop(place.open(false).await?);
    for n in 0..numbers::restarts() {
        let plan = Plan::random(Fault::ServerKilled, numbers::seed().wrapping_add(n));
        let chat = ChatRef::new("ada", format!("chat-{n}"));
        let mut writer = Writer::new(place.open(true).await?, chat.clone());
        writer.begin().await?;
        let (before, spins) = plan.kill;
        for n in 0..before {
            writer.write(n).await?;
        }
        // The server is killed at some moment of the next write.
        let killing = tokio::task::spawn_blocking(move || {
            (0..spins).for_each(|_| std::hint::spin_loop());
            server.kill_and_restart().map(|()| server)
        });
        for n in before..WRITES {
            writer.write(n).await?;
        }
        server = killing.await.map_err(std::io::Error::other)??;
        let acknowledged = AcknowledgedWrites { least: WRITES, more: 0, repeated: writer.repeated };
        let fresh = place.open(false).await?;
        let found = writer::read_back(&*fresh, &chat).await?;
        judge(&mut row, &plan, &acknowledged, found);
    }
    let findings = writer::check(&*place.open(false).await?).await?;
    row.findings = findings.len() as u64;
    row.stories.extend(findings);
    Ok(row)
}
