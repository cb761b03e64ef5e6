//! `backup`: writes a consistent copy of the whole store to a new file.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use bytesize::ByteSize;
use context_runtime::Error;
use context_runtime::store::StoreFacts;
use schemars::JsonSchema;
use serde::Serialize;
use tempfile::{TempDir, TempPath};
use tokio::time::timeout;

use crate::app::{App, Outcome, file_of, maintenance};
use crate::error::Failure;
use crate::output::{Style, sync_name};
use crate::progress::Progress;
use crate::text::clean;

/// The interval at which the size of the new file is looked at.
const LOOKS: Duration = Duration::from_millis(100);

/// Write the whole store to a new file.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context backup chats-monday.db             sqlite:chats-monday.db means the same file
  context verify --store sqlite:chats-monday.db

The file holds one consistent state of all users' chats, also while others write, and is a store
itself. A file that exists is replaced only with --force, and then at once, by the complete copy.")]
pub(crate) struct Args {
    /// The new file
    file: PathBuf,
    /// Replace the file if there is one
    #[arg(long)]
    force: bool,
}

/// JSON record of `backup`: the new file.
#[derive(Serialize, JsonSchema)]
pub(super) struct BackupRecord {
    v: u32,
    file: String,
    bytes: u64,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let args = Args { file: file_named(args.file, app)?, ..args };
    let store = app.store_to_read().await?;
    let file = args.file.display().to_string();
    let exists = args.file.symlink_metadata().is_ok();
    if exists && !args.force {
        return Err(Failure::Exists { file });
    }
    let failed = |source| Failure::WriteFile { file: file.clone(), source };
    let beside = partial_folder(&args.file).map_err(failed)?;
    let new = beside.path().join("backup");
    let working = Progress::new(&app.out, "writing the backup");
    let maintenance = maintenance(&*store, "backup")?;
    if working.is_shown() {
        let StoreFacts { bytes, unused, .. } = maintenance.facts().await.unwrap_or_default();
        let expected = bytes.map(|bytes| bytes.saturating_sub(unused.unwrap_or_default()));
        let expected = expected.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        working.steps("byte", expected);
    }
    let work = while_growing(maintenance.backup(&new), beside.path(), &working);
    app.unless_interrupted("backup", work).await?;
    let elapsed = working.done().map(|elapsed| format!(", {elapsed}")).unwrap_or_default();
    let new = TempPath::try_from_path(new).map_err(failed)?;
    let placed = match args.force {
        true => new.persist(&args.file),
        false => new.persist_noclobber(&args.file),
    };
    placed.map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => Failure::Exists { file: file.clone() },
        _ => failed(error.error),
    })?;
    // The content is on the disk already.
    sync_name(&args.file).map_err(failed)?;
    let bytes = std::fs::metadata(&args.file).map_err(|error| {
        Error::new(
            context_runtime::ErrorKind::Unavailable,
            "backup",
            "the new file cannot be looked at",
        )
        .with("file", &file)
        .with_source(error)
    })?;
    let bytes = bytes.len();
    if app.out.is_json() {
        app.out.record(&BackupRecord { v: 1, file, bytes })?;
    } else {
        let done = app.out.paint(Style::Green, "wrote").to_string();
        app.out.line(format_args!("{done} {}, {}{elapsed}", clean(&file), ByteSize(bytes)))?;
    }
    Ok(Outcome::Success)
}

/// Creates a folder for the incomplete file, in which its size can be looked at whatever its name.
/// If the process is killed, `doctor` on the backup finds it by its name.
fn partial_folder(file: &Path) -> io::Result<TempDir> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.partial");
    tempfile::Builder::new().prefix(&prefix).tempdir_in(folder.unwrap_or(Path::new(".")))
}

/// Does work, and shows the size of the files in a folder meanwhile.
async fn while_growing<T>(work: impl Future<Output = T>, folder: &Path, progress: &Progress) -> T {
    let mut work = pin!(work);
    loop {
        progress.reach(bytes_in(folder));
        if let Ok(done) = timeout(LOOKS, &mut work).await {
            return done;
        }
    }
}

/// Returns the size of the files in a folder. What cannot be looked at has none.
fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum()
}

/// Returns the target file. A store URL is accepted if it names a file.
fn file_named(given: PathBuf, app: &App) -> Result<PathBuf, Failure> {
    let Some(text) = given.to_str() else { return Ok(given) };
    if text.starts_with("sqlite:") {
        let usage = "a backup is a new file: name it as PATH or as sqlite:PATH, without options";
        let file = file_of(text).filter(|_| !text.contains('?'));
        return file.map(PathBuf::from).ok_or_else(|| Failure::Usage(usage.into()));
    }
    if app.is_store(text) {
        let usage = "a backup is a file; `context copy` copies chats to another store";
        return Err(Failure::Usage(usage.into()));
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use super::*;

    #[test]
    fn what_a_killed_backup_leaves_has_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let partial = partial_folder(&folder.path().join("monday.db")).expect("it is made");
        assert_eq!(partial.path().parent(), Some(folder.path()));
        let name = partial.path().file_name().and_then(|name| name.to_str());
        assert!(name.is_some_and(|name| name.starts_with(".monday.db.partial")), "{name:?}");
    }

    #[tokio::test]
    async fn the_size_of_the_file_is_shown_while_it_grows() {
        let folder = tempfile::tempdir().expect("a folder");
        let progress = Progress::unseen("writing the backup");
        progress.steps("byte", 4 << 20);
        let file = folder.path().join(".backup.partial0");
        std::fs::write(&file, vec![0; 1 << 20]).expect("written");
        let text = || progress.text_after(Duration::from_secs(2));
        let expected = "writing the backup: 1.0 MiB of 4.0 MiB · 6 s left · 512.0 KiB/s";
        // The work is done as soon as it sees its size on the display.
        let work = poll_fn(|_| if text() == expected { Poll::Ready(7) } else { Poll::Pending });
        assert_eq!(while_growing(work, folder.path(), &progress).await, 7);
        assert_eq!(bytes_in(&folder.path().join("nowhere")), 0);
    }
}
