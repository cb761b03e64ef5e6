//! `vacuum`: returns unused space to the system and clears deleted data from it.

use std::fs::File;
use std::io::Read;

use bytesize::ByteSize;
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
still have removed content. Only a SQLite file can say in advance how much of it is unused.")]
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
        return plan(app);
    }
    let working = Progress::spinner(&app.out, "vacuuming");
    let sizes = app.unless_interrupted("vacuum", maintenance.vacuum()).await?;
    working.done();
    let (before, after) = (sizes.before, sizes.after);
    if app.out.is_json() {
        let (before, after) = (Some(before), Some(after));
        app.out.record(&VacuumRecord { v: 1, before, after, status: "removed" })?;
    } else {
        let freed = ByteSize(before.saturating_sub(after));
        let [before, after] = [before, after].map(ByteSize);
        app.out.line(format_args!("{before} before, {after} now: {freed} freed"))?;
    }
    Ok(Outcome::Success)
}

fn plan(app: &mut App) -> Result<Outcome, Failure> {
    let sizes = app.store_file().as_deref().and_then(sqlite_sizes);
    if app.out.is_json() {
        let (before, after) = (sizes.map(|sizes| sizes.0), sizes.map(|sizes| sizes.0 - sizes.1));
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

/// Reads the size of a SQLite file with its log, and the size of the free pages and the log, from
/// the header of the file: <https://www.sqlite.org/fileformat.html#the_database_header>. Pages that
/// are used in part, and those that the log frees, are not counted.
fn sqlite_sizes(file: &str) -> Option<(u64, u64)> {
    let mut header = [0; 100];
    File::open(file).ok()?.read_exact(&mut header).ok()?;
    let number = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => u64::from(size),
    };
    let log = std::fs::metadata(format!("{file}-wal")).map_or(0, |log| log.len());
    let bytes = std::fs::metadata(file).ok()?.len() + log;
    Some((bytes, (page * u64::from(number(36)?) + log).min(bytes)))
}
