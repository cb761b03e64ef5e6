//! `vacuum`: returns unused space to the system and clears deleted data from it.

use bytesize::ByteSize;
use context_runtime::store::StoreFacts;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::{App, Outcome, maintenance};
use crate::error::Failure;
use crate::progress::Progress;

/// Release unused space and clear deleted data from it.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context vacuum --store sqlite:chats.db
  context vacuum --dry-run                   how much of the file is unused

Run it after large deletions or redactions. It needs as much free space as the store takes, and blocks
writers while it runs. It may be interrupted at any time. Until it ran, unused space of the files may
still have removed content. Only SQLite can say in advance how much of the file is unused.")]
pub(crate) struct Args {
    /// Only show how much space is unused
    #[arg(long)]
    dry_run: bool,
}

/// JSON record of `vacuum`: sizes in bytes.
#[derive(Serialize, JsonSchema)]
pub(super) struct VacuumRecord {
    v: u32,
    /// `null` in a dry run if the store cannot say it.
    before: Option<u64>,
    /// In a dry run, the largest size that it may have.
    after: Option<u64>,
    /// `would_go` or `removed`: the unused space.
    status: &'static str,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_unless(args.dry_run).await?;
    let maintenance = maintenance(&*store, "vacuum")?;
    if args.dry_run {
        let StoreFacts { bytes, unused, .. } = maintenance.facts().await?;
        return plan(app, bytes.zip(unused));
    }
    let working = Progress::new(&app.out, "vacuuming");
    let sizes = app.unless_interrupted("vacuum", maintenance.vacuum()).await?;
    let elapsed = working.done().map(|elapsed| format!(", {elapsed}")).unwrap_or_default();
    let (before, after) = (sizes.before, sizes.after);
    if app.out.is_json() {
        let (before, after) = (Some(before), Some(after));
        app.out.record(&VacuumRecord { v: 1, before, after, status: "removed" })?;
    } else {
        let freed = ByteSize(before.saturating_sub(after));
        let [before, after] = [before, after].map(ByteSize);
        app.out.line(format_args!("{before} before, {after} now: {freed} freed{elapsed}"))?;
    }
    Ok(Outcome::Success)
}

/// Reports the size of the store and of its unused part, if the store knows them without a vacuum.
fn plan(app: &mut App, sizes: Option<(u64, u64)>) -> Result<Outcome, Failure> {
    if app.out.is_json() {
        let before = sizes.map(|(bytes, _)| bytes);
        let after = sizes.map(|(bytes, unused)| bytes.saturating_sub(unused));
        app.out.record(&VacuumRecord { v: 1, before, after, status: "would_go" })?;
        return Ok(Outcome::Success);
    }
    match sizes {
        Some((bytes, unused)) => app.out.line(format_args!(
            "would go: at least {} of {}, and removed content in unused space; nothing was changed",
            ByteSize(unused),
            ByteSize(bytes)
        ))?,
        None => app
            .out
            .line("this store cannot say in advance how much is unused; nothing was changed")?,
    }
    Ok(Outcome::Success)
}
