//! Files in the library's own form, which are read line by line instead of as a whole.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;

use context_runtime::transfer::{self, BrokenLine, ChatOutcome, ImportJsonl};
use context_runtime::{CancelSignal, Store};

use super::file_progress::FileProgress;
use super::report::{ImportedChat, LineProblems, Report, Status};
use super::{Args, FileName};
use crate::app::App;
use crate::error::Failure;
use crate::file_format::FileFormat;
use crate::input::is_stdin;
use crate::missing;
use crate::text::clean;

/// The longest first line, in bytes, that is read to detect the form of a file. The line of a chat
/// with the largest metadata is shorter.
const FIRST_LINE: u64 = 4 << 20;

/// The largest standard input or pipe that is read, in bytes. Chats are read twice, so the data is
/// stored in a temporary file.
const MAX_PIPED: u64 = 16 << 30;

/// The start of every exported file.
const BEGINS: &[u8] = br#"{"type":"chat","v":"#;

/// Returns whether a file is in this form. For a pipe the form must be given, since a pipe cannot
/// be read twice. The start of standard input can be inspected without consuming it.
pub(in crate::commands) fn is_own(from: FileFormat, path: &Path) -> Result<bool, Failure> {
    if from == FileFormat::Auto && is_stdin(path) {
        return Ok(io::stdin().lock().fill_buf().is_ok_and(|bytes| bytes.starts_with(BEGINS)));
    }
    if from != FileFormat::Auto || !path.is_file() {
        return Ok(from == FileFormat::Jsonl);
    }
    let mut line = Vec::new();
    let mut file = open(path)?;
    loop {
        line.clear();
        let read = file.by_ref().take(FIRST_LINE).read_until(b'\n', &mut line);
        if read.map_err(|source| failed(path, source))? == 0 {
            return Ok(false);
        }
        if !line.trim_ascii().is_empty() {
            return Ok(transfer::is_jsonl(&line));
        }
    }
}

/// Reads a file without importing it. The first broken line is the error.
pub(super) fn check(path: &Path, interrupt: &CancelSignal) -> Result<(), Failure> {
    if !path.is_file() {
        return Ok(());
    }
    let checked = transfer::check_jsonl(&mut open(path)?, interrupt);
    Ok(checked.map_err(|error| error.with("file", path.display()))?)
}

/// Imports a file.
pub(super) async fn write(
    app: &mut App,
    store: &dyn Store,
    args: &Args,
    path: &Path,
    interrupt: &CancelSignal,
    (report, files): (&mut Report, &mut FileProgress<'_>),
) -> Result<(), Failure> {
    let mut options = ImportJsonl::new(app.user.clone());
    options.chat = args.chat.clone().map(Into::into);
    // A file was checked before.
    options.strict = args.strict && !path.is_file();
    let input = FileName::of(path);
    files.messages(None);
    let mut written = 0;
    let mut progress = |messages| {
        written = messages;
        files.reach(messages, None);
    };
    let signal = files.signal(interrupt);
    let imported =
        transfer::import_jsonl(store, &mut open(path)?, &options, &signal, &mut progress).await;
    let imported = imported.map_err(|error| error.with("file", &input.shown))?;
    files.done(written);
    let broken = |broken: BrokenLine| {
        (usize::try_from(broken.line).unwrap_or(usize::MAX), broken.diagnostic.message)
    };
    let unlisted = usize::try_from(imported.unlisted).unwrap_or(usize::MAX);
    let broken = LineProblems::new(imported.broken.into_iter().map(broken).collect(), unlisted);
    let mut lines = broken.count();
    report.file(app, &input, broken)?;
    for chat in &imported.chats {
        let name = chat.chat.chat.as_str();
        let written = chat.written().cloned().unwrap_or_default();
        let status = match &chat.outcome {
            ChatOutcome::Written(_) => Status::Imported,
            ChatOutcome::Refused => Status::Refused,
            _ => {
                let name = clean(name);
                app.out
                    .note(format_args!("{name}: a chat of this name exists; it was not changed"));
                Status::Unchanged
            }
        };
        let messages = usize::try_from(written.messages).unwrap_or(usize::MAX);
        let imported = ImportedChat {
            chat: name,
            messages,
            added: if status == Status::Imported { messages } else { 0 },
            branches: usize::try_from(written.branches).unwrap_or(usize::MAX),
            diagnostics: &written.diagnostics,
        };
        report.chat(app, &input, &imported, status, std::mem::take(&mut lines))?;
    }
    if imported.chats.is_empty() {
        report.unread(lines);
    }
    Ok(())
}

/// Opens a file so that it can be read twice.
fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    let failed = |source| failed(path, source);
    let file = if is_stdin(path) {
        copied(io::stdin().lock(), path)?
    } else if path.is_file() {
        File::open(path).map_err(failed)?
    } else {
        copied(File::open(path).map_err(failed)?, path)?
    };
    Ok(BufReader::with_capacity(1 << 16, file))
}

/// Returns the content of a pipe in an anonymous temporary file.
fn copied(from: impl Read, path: &Path) -> Result<File, Failure> {
    let failed = |source| failed(path, source);
    let mut file = tempfile::tempfile().map_err(failed)?;
    let copied = io::copy(&mut from.take(MAX_PIPED + 1), &mut file).map_err(failed)?;
    if copied > MAX_PIPED {
        return Err(Failure::TooLarge { file: FileName::of(path).shown, limit: MAX_PIPED });
    }
    file.rewind().map_err(failed)?;
    Ok(file)
}

fn failed(path: &Path, source: io::Error) -> Failure {
    missing::unreadable(path, source)
}
