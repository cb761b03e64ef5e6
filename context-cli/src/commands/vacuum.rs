//! `vacuum`: returns unused space to the system and clears deleted data from it.

use bytesize::ByteSize;
use serde::Serialize;

use crate::app::{App, Outcome, maintenance};
use crate::error::Failure;
use crate::progress::Progress;

/// Release unused space and clear deleted data from it.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  context vacuum --store sqlite:chats.db

Run it after large deletions or redactions. It needs as much free space as the store takes, and blocks
writers while it runs. It may be interrupted at any time.")]
pub(crate) struct Args {}

/// JSON record of `vacuum`: sizes in bytes.
#[derive(Serialize)]
struct VacuumRecord {
    v: u32,
    before: u64,
    after: u64,
}

pub(crate) async fn run(_args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_write().await?;
    let working = Progress::spinner(&app.out, "vacuuming");
    let sizes = app.unless_interrupted("vacuum", maintenance(&*store, "vacuum")?.vacuum()).await?;
    working.done();
    let (before, after) = (sizes.before, sizes.after);
    if app.out.is_json() {
        app.out.record(&VacuumRecord { v: 1, before, after })?;
    } else {
        let freed = ByteSize(before.saturating_sub(after));
        let [before, after] = [before, after].map(ByteSize);
        app.out.line(format_args!("{before} before, {after} now: {freed} freed"))?;
    }
    Ok(Outcome::Success)
}
