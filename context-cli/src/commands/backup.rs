//! `backup`: writes a consistent copy of the whole store to a new file.

use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use context_runtime::Error;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::{App, Outcome, file_of, maintenance};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::clean;

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
    // A store writes its backup into a new file, which then takes the place of the other one.
    let folder = args.file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let beside = match exists {
        true => Some(tempfile::tempdir_in(folder.unwrap_or(Path::new("."))).map_err(failed)?),
        false => None,
    };
    let new = beside.as_ref().map(|folder| folder.path().join("backup"));
    let new = new.as_deref().unwrap_or(&args.file);
    let working = Progress::new(&app.out, "writing the backup");
    let work = maintenance(&*store, "backup")?.backup(new);
    app.unless_interrupted("backup", work).await?;
    let elapsed = working.done().map(|elapsed| format!(", {elapsed}")).unwrap_or_default();
    if beside.is_some() {
        std::fs::rename(new, &args.file).map_err(failed)?;
    }
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
