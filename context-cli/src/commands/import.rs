//! `import`: reads transcripts into chats. A file is read completely before any of it is written.
//! With `--strict`, all files are read first.

mod file_progress;
pub(super) mod jsonl;
mod patterns;
pub(super) mod planned_chat;
pub(super) mod report;
pub(super) mod walk;

use std::path::PathBuf;
use std::sync::Arc;

use context_runtime::store::OpenMode;
use context_runtime::transcript::{self, TranscriptError};
use context_runtime::transfer::TreeWritten;
use context_runtime::{CancelSignal, Store};

use self::file_progress::FileProgress;
use self::planned_chat::{FileName, PlannedChat};
use self::report::{ImportedChat, LineProblems, Report, Status};
use self::walk::{ImportFile, Walk};
use super::{prompt, trajectory};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::file_format::FileFormat;
use crate::input;
use crate::progress::Progress;

const EXAMPLES: &str = "\
A file is a list of messages, an object with `messages`, `history`, `traj`, `contents` or
`input`, a list of such objects, or JSON Lines of either; a file of a program that --from
lists; or a file of `context export --to jsonl`. The format is detected by features that
only one format has; name it with --from if several are possible. Branches are imported as
branches. All other content of the file is stored too, so that `context export --to source`
writes it again.

Examples:
  context import support.json                one chat `support`, or `support-0001` and so on
  context import ~/.claude/projects          every session in the folder
  context import ~/.codex/sessions/*/*/*/*.jsonl
  context import 'runs/**/*.jsonl'           a pattern that no shell expands, with subfolders
  context import \"$(llm logs path)\"          every conversation in the database of `llm`
  curl -s URL | context import - --chat day  from standard input
  context import support.json --prompt       and show what a model would get
  context import support.json --trajectory   and record its rounds: `context trajectory list`

A line of JSON Lines that cannot be read is left out and counted; --strict refuses it. A
chat in a file of `export --to jsonl` is imported completely or not at all: if one of its
lines is broken or contradicts the others, the chat is refused with file and line. A file
that cannot be read is listed and the other files are imported; the exit status is then 1.

In a folder and its subfolders, the files that end in .db, .json, .jsonl, .ndjson and .traj
are read in the order of their names. Hidden entries, links to folders and files that are
not transcripts are skipped (-v lists them with the reason). A folder, link or pipe that cannot
be read is listed and counted, and the exit status is 1. Chats are named by the path within the
folder. A pattern of `*`, `?`, `[…]` and `**` that is no file is read like the folder before its
first wildcard. A file may have at most 256 MiB and a million lines or messages; a file of
`export --to jsonl` is read line by line and may have any size, with lines of at most
256 MiB.

The databases of `llm`, opencode and goose are read as if their programs had exported them,
and so are folders in which opencode has a file for each part of a message, or OpenHands one
for each event.

Importing the same file again changes nothing. If the file has grown since, the chat is
extended: with the new messages, and with the rest of messages that were incomplete. A chat
that someone else continued, or whose file was replaced, is left as it is, and the exit
status is 1. `context watch` follows the files of running agents. Messages without an id of
their own are named m1, m2, …";

/// Read transcripts into chats.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files to read, folders of files, or patterns; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The name of the chat, or the prefix of the names [default: the file's name]
    #[arg(long, value_name = "NAME")]
    chat: Option<String>,
    /// The format of the files
    #[arg(long, value_enum, default_value_t = FileFormat::Auto)]
    from: FileFormat,
    /// Import nothing at all if a line cannot be read
    #[arg(long)]
    strict: bool,
    /// List the lines that cannot be read
    #[arg(long)]
    broken: bool,
    /// List the skipped files of folders
    #[arg(short, long)]
    verbose: bool,
    /// Then show the prompt that a model would get of each chat
    #[arg(long)]
    prompt: bool,
    /// Then record each chat as trajectory rounds of a session of its name
    #[arg(long)]
    trajectory: bool,
}

/// The reason why a file of a folder is skipped that could have been a transcript.
const NO_FORM: &str = "not a transcript";

/// A file that is ready to be written.
enum PreparedFile {
    /// A file in the library's own form, which is read while it is written.
    Own(PathBuf),
    /// A file in a folder that is not in a known form.
    NoForm,
    /// A file in another form, already read.
    Read { input: FileName, chats: Vec<PlannedChat>, broken: LineProblems },
}

/// The target store, and the signal to stop.
type Target = (Arc<dyn Store>, CancelSignal);

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    if args.chat.is_some() && (args.files.len() > 1 || args.files.iter().any(|path| path.is_dir()))
    {
        return Err(Failure::Usage(
            "--chat names the chats of one file; import the files one by one".into(),
        ));
    }
    let (mut opened, mut report) = (None, Report::new(args.broken, args.verbose));
    let progress = Progress::new(&app.out, "looking for transcripts");
    let done = files(&args, app, &mut opened, &mut report, &progress).await;
    // Chats that were written before a failure are reported.
    report.print(app, progress.done())?;
    done?;
    let ended = if report.has_failed() { Outcome::Findings } else { Outcome::Success };
    let Some((store, interrupt)) = opened.filter(|_| args.prompt || args.trajectory) else {
        return Ok(ended);
    };
    if args.trajectory {
        trajectory::record::record_all(app, &store, report.chats()).await?;
    }
    for (chat, _) in report.chats().filter(|_| args.prompt) {
        interrupt.check("import")?;
        prompt::print(app, Arc::clone(&store), chat, None).await?;
    }
    Ok(ended)
}

/// Reads files and folders into a store in memory, with their rounds, and returns the store and its
/// chats. Files that cannot be read are listed on standard error; it fails if none can.
pub(super) async fn into_memory(
    files: &[PathBuf],
    from: FileFormat,
    app: &mut App,
) -> Result<(Arc<dyn Store>, Vec<String>), Failure> {
    let store = app.open("mem:", OpenMode::Create).await?;
    let args = Args {
        files: files.to_vec(),
        chat: None,
        from,
        strict: false,
        broken: false,
        verbose: false,
        prompt: false,
        trajectory: true,
    };
    let mut opened = Some((Arc::clone(&store), app.quiet_interrupt()));
    let mut report = Report::of_problems();
    let progress = Progress::new(&app.out, "looking for transcripts");
    self::files(&args, app, &mut opened, &mut report, &progress).await?;
    let chats: Vec<String> = report.chats().map(|(chat, _)| chat.to_owned()).collect();
    if chats.is_empty() {
        let shown: Vec<_> = files.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::NoChat { files: shown });
    }
    trajectory::record::record_quietly(app, &store, report.chats(), &progress).await?;
    Ok((store, chats))
}

async fn files(
    args: &Args,
    app: &mut App,
    opened: &mut Option<Target>,
    report: &mut Report,
    progress: &Progress,
) -> Result<(), Failure> {
    progress.steps("entry", None);
    let Walk { files, skipped, failed } = Walk::of(&args.files, || progress.advance(1));
    // If a single file was named, its failure is the command's failure.
    let alone = files.len() == 1 && files[0].name.is_none() && args.files.len() == 1;
    let nothing = files.is_empty() && skipped.is_empty();
    for (path, reason) in &skipped {
        report.skipped(app, &path.display().to_string(), reason)?;
    }
    for (path, failure) in failed {
        if nothing && args.files.as_slice() == [path.as_path()] {
            return Err(failure);
        }
        report.failed(app, &path.display().to_string(), &failure)?;
    }
    let phase = |doing: &str| {
        progress.phase(match files.as_slice() {
            [file] => format!("{doing} {}", file.shown()),
            _ => doing.to_owned(),
        });
    };
    let mut progress = FileProgress::new(progress, &files);
    let mut ready = Vec::new();
    if args.strict {
        phase("checking");
        for (at, file) in files.iter().enumerate() {
            progress.file(at);
            ready.push(match prepare(app, args, file, &progress) {
                // A file found in a folder need not be a transcript.
                Err(failure) if file.name.is_some() && is_no_transcript(&failure) => {
                    PreparedFile::NoForm
                }
                prepared => prepared?,
            });
        }
    }
    phase("importing");
    let mut ready = ready.into_iter();
    for (at, file) in files.iter().enumerate() {
        progress.file(at);
        let done = match ready.next() {
            Some(PreparedFile::NoForm) => report.skipped(app, &file.shown(), NO_FORM),
            Some(ready) => write(args, app, opened, ready, report, &mut progress).await,
            None => match prepare(app, args, file, &progress) {
                Ok(ready) => write(args, app, opened, ready, report, &mut progress).await,
                Err(failure) if file.name.is_some() && is_no_transcript(&failure) => {
                    report.skipped(app, &file.shown(), NO_FORM)
                }
                Err(failure) => Err(failure),
            },
        };
        match done {
            // The failure does not affect the other files.
            Err(failure) if !alone && failure.is_of_one_file() => {
                report.failed(app, &file.shown(), &failure)?;
            }
            done => done?,
        }
    }
    if files.is_empty() && !report.has_failed() {
        app.out.note("no transcript was found there");
    }
    Ok(())
}

/// Returns whether a file has no form that is known.
pub(super) fn is_no_transcript(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::UnknownDatabase { .. } | Failure::Transcript(TranscriptError::UnknownForm { .. })
    )
}

/// Reads a file completely, or fails for the whole file. A file in the library's own form may be
/// larger than memory; it is only checked, and only if broken lines are refused.
fn prepare(
    app: &App,
    args: &Args,
    file: &ImportFile,
    progress: &FileProgress<'_>,
) -> Result<PreparedFile, Failure> {
    let path = file.path.as_path();
    input::announce(&app.out, path, "a transcript");
    if jsonl::is_own(args.from, path)? {
        if args.strict {
            jsonl::check(path, &progress.signal(&CancelSignal::default()))?;
        }
        return Ok(PreparedFile::Own(path.to_owned()));
    }
    let (text, at) = (file.input.read(path, false)?, app.now());
    let mut read = transcript::read(&text, args.from.of_transcript(), at)?;
    if args.strict {
        std::mem::take(&mut read.broken).into_result()?;
    }
    let name = file.chat_name(args.chat.as_deref(), &text);
    let chats = PlannedChat::of_file(app, read.chats, &name, at)?;
    let input = FileName { shown: text.shown().to_owned(), name: text.name().to_owned() };
    Ok(PreparedFile::Read { input, chats, broken: read.broken.into() })
}

/// Writes the chats of a file. The store is created only when a file can be imported; until then
/// Ctrl-C simply ends the process.
async fn write(
    args: &Args,
    app: &mut App,
    opened: &mut Option<Target>,
    prepared: PreparedFile,
    report: &mut Report,
    progress: &mut FileProgress<'_>,
) -> Result<(), Failure> {
    let (store, interrupt) = match opened {
        Some(opened) => opened,
        None => opened.insert((app.store_or_new().await?, app.interrupt())),
    };
    app.out.outlive_reader();
    let (input, mut chats, broken) = match prepared {
        PreparedFile::Own(path) => {
            return jsonl::write(app, &**store, args, &path, interrupt, (report, progress)).await;
        }
        PreparedFile::NoForm => return Ok(()),
        PreparedFile::Read { input, chats, broken } => (input, chats, broken),
    };
    let total: usize = chats.iter().map(|planned| planned.messages).sum();
    progress.messages(Some(total));
    let mut reached = 0;
    let mut lines = broken.count();
    report.file(app, &input, broken)?;
    for planned in &mut chats {
        let advance = |messages| {
            reached += messages as u64;
            progress.reach(reached, Some(total));
        };
        let (status, added) = match planned.write(store.history(), interrupt, advance).await? {
            TreeWritten::New => (Status::Imported, planned.messages),
            TreeWritten::Extended(extension) => (Status::Extended, extension.messages),
            TreeWritten::Unchanged => (Status::Unchanged, 0),
            TreeWritten::Taken(difference) => {
                let (chat, file) = (planned.chat.clone(), input.shown);
                return Err(Failure::Taken { chat, file, difference });
            }
        };
        let PlannedChat { chat, messages, branches, diagnostics, .. } = &*planned;
        let (messages, branches) = (*messages, *branches);
        let imported = ImportedChat { chat, messages, added, branches, diagnostics };
        report.chat(app, &input, &imported, status, std::mem::take(&mut lines))?;
    }
    progress.done(total as u64);
    Ok(())
}
