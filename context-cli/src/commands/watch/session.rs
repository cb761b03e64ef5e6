//! The state of a watch: the files as they were last read, and their problems.

use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::sync::Arc;
use std::time::SystemTime;

use context_runtime::transcript::{self, FormProblem, TranscriptError};
use context_runtime::transfer::{TreeExtension, TreeWritten};
use context_runtime::{CancelSignal, ErrorKind, Store};

use super::Args;
use super::report::{self, ProblemKind, Totals};
use crate::app::App;
use crate::commands::import::planned_chat::PlannedChat;
use crate::commands::import::walk::{ImportFile, Walk};
use crate::commands::import::{is_no_transcript, jsonl};
use crate::error::Failure;
use crate::progress::Progress;
use crate::text::count;

/// The properties of a file that change when the file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    length: u64,
    modified: Option<SystemTime>,
    /// The number of the file in the file system, which changes if another file takes its place.
    #[cfg(unix)]
    inode: u64,
}

impl From<&Metadata> for FileStamp {
    fn from(metadata: &Metadata) -> Self {
        Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(metadata),
        }
    }
}

/// Returns the stamps of the files that are read together. `None` if one is missing.
fn stamps(file: &ImportFile) -> Option<Vec<FileStamp>> {
    let paths = file.input.paths().ok()?.into_iter();
    paths.map(|path| std::fs::metadata(path).ok().as_ref().map(FileStamp::from)).collect()
}

/// A file as it was last read.
#[derive(Default)]
struct WatchedFile {
    /// `None` if the file has to be read again.
    stamp: Option<Vec<FileStamp>>,
    /// The number of messages.
    messages: usize,
    /// The problems that were reported and still exist.
    problems: Vec<(ProblemKind, String)>,
    /// Whether the store could not be written to.
    is_pending: bool,
}

/// Watched folders.
pub(super) struct WatchSession {
    args: Args,
    store: Option<Arc<dyn Store>>,
    /// The files by the names that messages show.
    files: HashMap<String, WatchedFile>,
    pub(super) totals: Totals,
}

impl WatchSession {
    pub(super) fn new(args: Args) -> Self {
        Self { args, store: None, files: HashMap::new(), totals: Totals::default() }
    }

    /// Returns the number of problems that were reported and still exist.
    pub(super) fn problems(&self) -> usize {
        self.files.values().map(|file| file.problems.len()).sum()
    }

    /// Returns whether a problem is a failure. That a file is still being written is none.
    pub(super) fn has_failed(&self) -> bool {
        let counts =
            |kind: &ProblemKind| !matches!(kind, ProblemKind::Incomplete | ProblemKind::Broken);
        self.files.values().any(|file| file.problems.iter().any(|(kind, _)| counts(kind)))
    }

    /// Returns whether a file has to be written again although it did not change.
    pub(super) fn has_pending(&self) -> bool {
        self.files.values().any(|file| file.is_pending)
    }

    /// Regards all files as read.
    pub(super) fn pass_over_existing(&mut self) {
        for file in Walk::of(&self.args.folders, || {}).files {
            let stamp = stamps(&file);
            self.files.insert(file.shown(), WatchedFile { stamp, ..WatchedFile::default() });
        }
    }

    /// Reads the files that changed, and writes the missing parts of their chats. Returns the
    /// [elapsed time](Progress::done).
    pub(super) async fn update(
        &mut self,
        app: &mut App,
        interrupt: &CancelSignal,
    ) -> Result<Option<String>, Failure> {
        let progress = Progress::new(&app.out, "looking for sessions");
        progress.steps("entry", None);
        let Walk { files, failed, .. } = Walk::of(&self.args.folders, || progress.advance(1));
        progress.phase("reading");
        let mut present: HashSet<String> = HashSet::new();
        for (path, failure) in failed {
            let shown = path.display().to_string();
            let problems = vec![(ProblemKind::Failed, failure.problem())];
            self.report(app, &shown, problems)?;
            present.insert(shown);
        }
        progress.steps("session", files.len());
        for file in files {
            interrupt.check("watch")?;
            self.update_file(app, interrupt, &file).await?;
            present.insert(file.shown());
            progress.advance(1);
        }
        // If a file comes again, it is new.
        self.files.retain(|shown, _| present.contains(shown));
        Ok(progress.done())
    }

    /// Reads a file if it changed, and writes the missing parts of its chats.
    async fn update_file(
        &mut self,
        app: &mut App,
        interrupt: &CancelSignal,
        file: &ImportFile,
    ) -> Result<(), Failure> {
        // Taken before the file is read, so that a change in between is not missed.
        let stamp = stamps(file);
        let shown = file.shown();
        let watched = self.files.entry(shown.clone()).or_default();
        if stamp.is_some() && watched.stamp == stamp && !watched.is_pending {
            return Ok(());
        }
        (watched.stamp, watched.is_pending) = (stamp, false);
        let mut problems = Vec::new();
        let written = match self.read(app, file, &mut problems) {
            Ok(chats) if chats.is_empty() => Ok(()),
            Ok(chats) => {
                // Created only if there is something to write. Without it, no file can be written.
                let store = match &self.store {
                    Some(store) => Arc::clone(store),
                    None => Arc::clone(self.store.insert(app.store_or_new().await?)),
                };
                let written = self.write(app, &*store, interrupt, (&shown, chats)).await;
                written.map(|found| problems.extend(found))
            }
            Err(failure) => Err(failure),
        };
        match written {
            Ok(()) => {}
            Err(failure) if is_no_transcript(&failure) && !is_incomplete(&failure) => {}
            Err(failure) if is_incomplete(&failure) => {
                // The rest is about to be written, unless nobody waits for it.
                if self.args.once {
                    problems.push((ProblemKind::Incomplete, failure.problem()));
                }
            }
            Err(failure) if failure.is_of_one_file() => {
                problems.push((ProblemKind::Failed, failure.problem()));
            }
            // A chat with a lease does not affect the others; a store that is away ends `--once`.
            Err(Failure::Store(error))
                if error.kind() == ErrorKind::Conflict
                    || is_away(error.kind()) && !self.args.once =>
            {
                problems.push((ProblemKind::Failed, error.message().to_owned()));
                self.files.entry(shown.clone()).or_default().is_pending = true;
            }
            Err(failure) => return Err(failure),
        }
        self.report(app, &shown, problems)
    }

    /// Reads the chats of a file. A file in the library's own form is not one that grows.
    fn read(
        &self,
        app: &App,
        file: &ImportFile,
        problems: &mut Vec<(ProblemKind, String)>,
    ) -> Result<Vec<PlannedChat>, Failure> {
        if jsonl::is_own(self.args.from, &file.path)? {
            return Ok(Vec::new());
        }
        let (text, at) = (file.input.read(&file.path, true)?, app.now());
        let mut read = transcript::read(&text, self.args.from.of_transcript(), at)?;
        if self.args.strict {
            std::mem::take(&mut read.broken).into_result()?;
        }
        if let Some(first) = read.broken.listed().first() {
            let lines = count(read.broken.count(), "line");
            let (line, problem) = (first.line, first.error.problem());
            let text = format!("{lines} left out; the first is line {line}: {problem}");
            problems.push((ProblemKind::Broken, text));
        }
        let name = file.chat_name(None, &text);
        let name = match &self.args.prefix {
            Some(prefix) => format!("{prefix}/{name}"),
            None => name,
        };
        PlannedChat::of_file(app, read.chats, &name, at)
    }

    /// Writes the missing parts of a file's chats. Returns the problems of single chats.
    async fn write(
        &mut self,
        app: &mut App,
        store: &dyn Store,
        interrupt: &CancelSignal,
        (shown, mut chats): (&str, Vec<PlannedChat>),
    ) -> Result<Vec<(ProblemKind, String)>, Failure> {
        let (mut messages, mut problems) = (0, Vec::new());
        for planned in &mut chats {
            messages += planned.messages;
            match planned.write(store.history(), interrupt, |_| {}).await? {
                TreeWritten::New => {
                    let mut added = TreeExtension::default();
                    (added.messages, added.branches) = (planned.messages, planned.branches - 1);
                    self.totals.imported += 1;
                    self.totals.messages += planned.messages;
                    report::written(app, shown, &planned.chat, true, added)?;
                }
                // The other lines of a session change often, and nobody would look at them.
                TreeWritten::Extended(added) if added != TreeExtension::default() => {
                    self.totals.extended += 1;
                    self.totals.added += added.messages;
                    report::written(app, shown, &planned.chat, false, added)?;
                }
                TreeWritten::Extended(_) | TreeWritten::Unchanged => self.totals.unchanged += 1,
                TreeWritten::Taken(difference) => {
                    let text = format!("chat {} is left as it is: {difference}", planned.chat);
                    problems.push((ProblemKind::Diverged, text));
                }
            }
        }
        let watched = self.files.entry(shown.to_owned()).or_default();
        if messages < watched.messages {
            let text = "it has fewer messages than before; the chat keeps them".to_owned();
            problems.push((ProblemKind::Shortened, text));
        } else {
            watched.messages = messages;
        }
        Ok(problems)
    }

    /// Reports those problems of a file that are new, and remembers all.
    fn report(
        &mut self,
        app: &mut App,
        shown: &str,
        problems: Vec<(ProblemKind, String)>,
    ) -> Result<(), Failure> {
        let watched = self.files.entry(shown.to_owned()).or_default();
        for found in problems.iter().filter(|found| !watched.problems.contains(found)) {
            report::problem(app, shown, found.0, &found.1)?;
        }
        watched.problems = problems;
        Ok(())
    }
}

/// Returns whether the rest of a file is missing.
fn is_incomplete(failure: &Failure) -> bool {
    match failure {
        Failure::Transcript(TranscriptError::Syntax { source, .. }) => source.is_eof(),
        Failure::Transcript(TranscriptError::UnknownForm { problem, .. }) => {
            *problem == FormProblem::Empty
        }
        _ => false,
    }
}

/// Returns whether a store may be reached later.
fn is_away(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Unavailable | ErrorKind::Timeout)
}
