//! The report of an import: records as it proceeds, or one line for people at the end.

use std::collections::HashSet;

use context_runtime::transcript::BrokenLines;
use context_runtime::{Diagnostic, DiagnosticCode};
use schemars::JsonSchema;
use serde::Serialize;

use super::FileName;
use crate::app::App;
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, count};

/// The number of diagnostics per chat that are shown to people.
const SHOWN: usize = 5;

/// JSON record of `import`: the outcome for one conversation.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct ImportRecord<'a> {
    v: u32,
    chat: &'a str,
    file: &'a str,
    messages: usize,
    /// The number of messages that were added to the store.
    added: usize,
    branches: usize,
    /// `imported`, `extended` if a part of it was already stored, `unchanged` if all of it was,
    /// `refused` if it has a broken line.
    status: &'static str,
    /// The number of lines of the file that could not be read. Reported once, with the first
    /// conversation of the file.
    broken: usize,
    /// Content that was kept without being understood.
    #[schemars(with = "Vec<serde_json::Value>")]
    diagnostics: &'a [Diagnostic],
}

/// JSON record of `import --broken`: a line that could not be read.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct BrokenRecord<'a> {
    v: u32,
    file: &'a str,
    line: usize,
    problem: &'a str,
}

/// JSON record of `import`: a file that was not imported.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct FileRecord<'a> {
    v: u32,
    /// The file as named, or as found in a folder.
    file: &'a str,
    /// `failed` if it cannot be read or written, `skipped` if it is not a transcript.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// The outcome for a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Imported,
    /// The missing part of the chat was written.
    Extended,
    /// The chat was already stored.
    Unchanged,
    /// The chat has a broken line.
    Refused,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Imported => "imported",
            Self::Extended => "extended",
            Self::Unchanged => "unchanged",
            Self::Refused => "refused",
        }
    }
}

/// A chat that was written or already stored.
pub(super) struct ImportedChat<'a> {
    pub(super) chat: &'a str,
    pub(super) messages: usize,
    pub(super) added: usize,
    pub(super) branches: usize,
    pub(super) diagnostics: &'a [Diagnostic],
}

/// The lines of a file that cannot be read.
#[derive(Default)]
pub(super) struct LineProblems {
    /// The numbers of the first lines, with their problems.
    listed: Vec<(usize, String)>,
    /// The number of other lines.
    unlisted: usize,
}

impl LineProblems {
    pub(super) fn new(listed: Vec<(usize, String)>, unlisted: usize) -> Self {
        Self { listed, unlisted }
    }

    /// Returns the number of broken lines, listed or not.
    pub(super) fn count(&self) -> usize {
        self.listed.len() + self.unlisted
    }
}

impl From<BrokenLines> for LineProblems {
    fn from(lines: BrokenLines) -> Self {
        let listed = lines.listed().iter().map(|broken| (broken.line, broken.error.problem()));
        Self::new(listed.collect(), lines.unlisted())
    }
}

/// The totals so far.
pub(super) struct Report {
    /// Whether nothing is said about what was imported, only about what was not.
    quiet: bool,
    list_broken: bool,
    list_skipped: bool,
    imported: usize,
    extended: usize,
    /// The number of messages that were added to chats that existed.
    added: usize,
    unchanged: usize,
    refused: usize,
    /// The number of files that could not be imported.
    failed: usize,
    /// The number of files in folders that are not transcripts.
    skipped: usize,
    messages: usize,
    branches: usize,
    /// The number of broken lines, and those that are shown at the end.
    broken: usize,
    listed: Vec<(String, LineProblems)>,
    /// The number of parts that were stored without being understood.
    unclear: usize,
    files: Vec<String>,
    /// The files that chats were imported from.
    sources: HashSet<String>,
    chats: Vec<(String, usize)>,
}

impl Report {
    pub(super) fn new(list_broken: bool, list_skipped: bool) -> Self {
        Self {
            quiet: false,
            list_broken,
            list_skipped,
            imported: 0,
            extended: 0,
            added: 0,
            unchanged: 0,
            refused: 0,
            failed: 0,
            skipped: 0,
            messages: 0,
            branches: 0,
            broken: 0,
            unclear: 0,
            listed: Vec::new(),
            files: Vec::new(),
            sources: HashSet::new(),
            chats: Vec::new(),
        }
    }

    /// Creates a report for a command that is not about the import: problems go to standard error,
    /// and there are no records.
    pub(super) fn of_problems() -> Self {
        Self { quiet: true, ..Self::new(false, false) }
    }

    fn writes_records(&self, app: &App) -> bool {
        app.out.is_json() && !self.quiet
    }

    /// Returns the chats that were imported or already stored.
    /// With the number of their messages.
    pub(super) fn chats(&self) -> impl ExactSizeIterator<Item = (&str, usize)> + Clone {
        self.chats.iter().map(|(chat, messages)| (chat.as_str(), *messages))
    }

    /// Returns whether a file or chat failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed + self.refused > 0
    }

    /// Reports a file that could not be imported.
    pub(super) fn failed(
        &mut self,
        app: &mut App,
        file: &str,
        failure: &Failure,
    ) -> Result<(), Failure> {
        self.failed += 1;
        let problem = failure.problem();
        if self.writes_records(app) {
            return app.out.record(&FileRecord {
                v: 1,
                file,
                status: "failed",
                problem: Some(problem),
            });
        }
        app.out.note(format_args!("{}: not imported: {}", clean(file), clean(&problem)));
        Ok(())
    }

    /// Reports a file in a folder that is not a transcript.
    pub(super) fn skipped(
        &mut self,
        app: &mut App,
        file: &str,
        reason: &str,
    ) -> Result<(), Failure> {
        self.skipped += 1;
        if self.writes_records(app) {
            let problem = Some(reason.to_owned());
            return app.out.record(&FileRecord { v: 1, file, status: "skipped", problem });
        }
        if self.list_skipped {
            app.out.note(format_args!("{}: passed over: {reason}", clean(file)));
        }
        Ok(())
    }

    /// Reports a file that is about to be written without its broken lines.
    pub(super) fn file(
        &mut self,
        app: &mut App,
        input: &FileName,
        broken: LineProblems,
    ) -> Result<(), Failure> {
        if let Some((line, problem)) = broken.listed.first().filter(|_| !self.list_broken) {
            let (file, lines) = (clean(&input.shown), count(broken.count(), "broken line"));
            let first = if broken.count() == 1 { "it is" } else { "the first is" };
            app.out.note(format_args!(
                "{file}: {lines} left out; {first} line {line}: {}",
                clean(problem)
            ));
        }
        if self.writes_records(app) && self.list_broken {
            for (line, problem) in &broken.listed {
                app.out.record(&BrokenRecord { v: 1, file: &input.name, line: *line, problem })?;
            }
        }
        self.broken += broken.count();
        if self.list_broken && !self.writes_records(app) {
            self.listed.push((input.shown.clone(), broken));
        }
        self.files.push(input.shown.clone());
        Ok(())
    }

    /// Counts a file that had broken lines and no chat.
    pub(super) fn unread(&mut self, broken: usize) {
        self.failed += usize::from(broken > 0);
    }

    /// Reports a chat that was written or already stored, with the number of `broken` lines of its
    /// file.
    pub(super) fn chat(
        &mut self,
        app: &mut App,
        input: &FileName,
        imported: &ImportedChat<'_>,
        status: Status,
        broken: usize,
    ) -> Result<(), Failure> {
        let &ImportedChat { chat, messages, added, branches, diagnostics } = imported;
        self.unclear += diagnostics
            .iter()
            .filter(|found| found.code == DiagnosticCode::Unrepresentable)
            .count();
        app.out.diagnostics(chat, diagnostics.get(..SHOWN).unwrap_or(diagnostics));
        if diagnostics.len() > SHOWN {
            app.out.note(format_args!(
                "{}: and {} more; --json shows all",
                clean(chat),
                diagnostics.len() - SHOWN
            ));
        }
        match status {
            Status::Imported => {
                self.imported += 1;
                self.sources.insert(input.shown.clone());
                self.messages += messages;
                self.branches += branches;
            }
            Status::Extended => {
                self.extended += 1;
                self.added += added;
            }
            Status::Unchanged => self.unchanged += 1,
            Status::Refused => {
                self.refused += 1;
                app.out.note(format_args!(
                    "{}: chat {}: refused, nothing of it was written",
                    clean(&input.shown),
                    clean(chat)
                ));
            }
        }
        if status != Status::Refused {
            self.chats.push((chat.to_owned(), messages));
        }
        if !self.writes_records(app) {
            return Ok(());
        }
        app.out.record(&ImportRecord {
            v: 1,
            chat,
            file: &input.name,
            messages,
            added,
            branches,
            status: status.as_str(),
            broken,
            diagnostics,
        })
    }

    /// Prints the summary for people, with the elapsed time if there is one.
    pub(super) fn print(&self, app: &mut App, elapsed: Option<String>) -> Result<(), Failure> {
        let nothing = self.chats.is_empty() && self.failed + self.refused + self.skipped == 0;
        if self.writes_records(app) || nothing {
            return Ok(());
        }
        let mut facts = Vec::new();
        if self.chats.is_empty() {
            facts.push("imported nothing".to_owned());
        } else if self.imported + self.extended == 0 {
            let files = match self.files.as_slice() {
                [file] => clean(file).into_owned(),
                files => count(files.len(), "file"),
            };
            facts.push(format!(
                "unchanged: {} of {files} stored before",
                count(self.unchanged, "chat")
            ));
        } else {
            if self.imported > 0 {
                let done = app.out.paint(Style::Green, "imported").to_string();
                let files = match self.sources.len() {
                    0 | 1 => String::new(),
                    files => format!(" from {}", count(files, "file")),
                };
                facts.push(format!("{done} {}{files}", count(self.imported, "chat")));
                facts.push(count(self.messages, "message"));
                facts.push(count(self.branches, "branch"));
            }
            if self.extended > 0 {
                let done = app.out.paint(Style::Green, "extended").to_string();
                facts.push(format!("{done} {}", count(self.extended, "chat")));
                facts.push(format!("{} added", count(self.added, "message")));
            }
            if self.unchanged > 0 {
                facts.push(format!("{} stored before", count(self.unchanged, "chat")));
            }
        }
        if self.refused > 0 {
            facts.push(format!("{} refused", count(self.refused, "chat")));
        }
        if self.failed > 0 {
            facts.push(format!("{} not imported", count(self.failed, "file")));
        }
        if self.skipped > 0 {
            let show = if self.list_skipped { "" } else { " (show: -v)" };
            facts.push(format!("{} passed over{show}", count(self.skipped, "file")));
        }
        if self.broken > 0 {
            let show = if self.list_broken { "" } else { " (show: --broken)" };
            facts.push(format!("{}{show}", count(self.broken, "broken line")));
        }
        if self.unclear > 0 {
            facts.push(format!("{} not understood, but stored", count(self.unclear, "part")));
        }
        facts.extend(elapsed);
        app.out.line(facts.join(" · "))?;
        let names = match self.chats.as_slice() {
            [] => String::new(),
            [(only, _)] => only.clone(),
            [(first, _), .., (last, _)] => format!("{first} … {last}"),
        };
        if !names.is_empty() {
            app.out.line(format_args!("  {}", clean(&names)))?;
        }
        for (file, broken) in &self.listed {
            let file = clean(file);
            for (line, problem) in &broken.listed {
                app.out.line(format_args!("  {file} line {line}: {}", clean(problem)))?;
            }
            if broken.unlisted > 0 {
                app.out.line(format_args!(
                    "  {file}: {}",
                    count(broken.unlisted, "more broken line")
                ))?;
            }
        }
        Ok(())
    }
}
