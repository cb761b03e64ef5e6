//! The report of a watch: a line or record for each change.

use context_runtime::transfer::TreeExtension;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, count};

/// JSON record of `watch`: the files that were there are imported, and changes are awaited.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct WatchingRecord<'a> {
    v: u32,
    /// `watching`.
    status: &'static str,
    folders: &'a [String],
}

/// JSON record of `watch`: a chat that was written.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct WatchedChatRecord<'a> {
    v: u32,
    chat: &'a str,
    file: &'a str,
    /// `imported` if the chat is new, else `extended`.
    status: &'static str,
    /// The number of messages that were added.
    added: usize,
    /// The number of messages that were incomplete before.
    amended: usize,
    /// The number of branches that were added. A new chat has one more.
    branches: usize,
}

/// JSON record of `watch`: a problem of a file, reported once.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct WatchedFileRecord<'a> {
    v: u32,
    file: &'a str,
    /// `failed` if the file cannot be read or written, `diverged` if its chat was continued
    /// otherwise or the file was replaced, `shortened` if it has fewer messages than before,
    /// `incomplete` if it ends in the middle, `broken` if lines of it were left out.
    status: &'static str,
    problem: &'a str,
}

/// The kind of a problem of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProblemKind {
    Failed,
    Diverged,
    Shortened,
    Incomplete,
    Broken,
}

impl ProblemKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Diverged => "diverged",
            Self::Shortened => "shortened",
            Self::Incomplete => "incomplete",
            Self::Broken => "broken",
        }
    }
}

/// The chats that were looked at so far.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) imported: usize,
    /// The number of messages of new chats.
    pub(super) messages: usize,
    pub(super) extended: usize,
    /// The number of messages that were added to chats that existed.
    pub(super) added: usize,
    pub(super) unchanged: usize,
}

impl Totals {
    /// Prints the line that ends `--once`. Its records tell the same.
    pub(super) fn print(
        &self,
        app: &mut App,
        problems: usize,
        elapsed: Option<String>,
    ) -> Result<(), Failure> {
        if app.out.is_json() {
            return Ok(());
        }
        let mut facts = Vec::new();
        if self.imported > 0 {
            let done = app.out.paint(Style::Green, "imported").to_string();
            facts.push(format!("{done} {}", count(self.imported, "chat")));
            facts.push(count(self.messages, "message"));
        }
        if self.extended > 0 {
            let done = app.out.paint(Style::Green, "extended").to_string();
            facts.push(format!("{done} {}", count(self.extended, "chat")));
            if self.added > 0 {
                facts.push(format!("{} added", count(self.added, "message")));
            }
        }
        match (facts.is_empty(), self.unchanged) {
            (true, 0) => facts.push("imported nothing".to_owned()),
            (true, unchanged) => facts.push(format!("unchanged: {}", count(unchanged, "chat"))),
            (false, 0) => {}
            (false, unchanged) => facts.push(format!("{} unchanged", count(unchanged, "chat"))),
        }
        if problems > 0 {
            facts.push(count(problems, "problem"));
        }
        facts.extend(elapsed);
        app.out.line(facts.join(" · "))
    }
}

/// Reports that changes are awaited.
pub(super) fn watching(app: &mut App, folders: &[String]) -> Result<(), Failure> {
    if app.out.is_json() {
        app.out.record(&WatchingRecord { v: 1, status: "watching", folders })?;
    } else {
        app.out.note(format_args!("watching {}; Ctrl-C ends it", clean(&folders.join(", "))));
    }
    app.out.flush()
}

/// Reports a chat that was written, at once.
pub(super) fn written(
    app: &mut App,
    file: &str,
    chat: &str,
    is_new: bool,
    added: TreeExtension,
) -> Result<(), Failure> {
    let TreeExtension { messages, amended, branches, .. } = added;
    if app.out.is_json() {
        let status = if is_new { "imported" } else { "extended" };
        let added = messages;
        app.out.record(&WatchedChatRecord {
            v: 1,
            chat,
            file,
            status,
            added,
            amended,
            branches,
        })?;
        return app.out.flush();
    }
    let mut facts = Vec::new();
    let done = if is_new { "imported" } else { "extended" };
    facts.push(app.out.paint(Style::Green, done).to_string());
    facts.push(count(messages, "message"));
    if amended > 0 {
        facts.push(format!("{amended} completed"));
    }
    if branches > 0 {
        facts.push(count(branches, "new branch"));
    }
    app.out.line(format_args!("{}: {}", clean(chat), facts.join(" · ")))?;
    app.out.flush()
}

/// Reports a problem of a file, at once.
pub(super) fn problem(
    app: &mut App,
    file: &str,
    kind: ProblemKind,
    problem: &str,
) -> Result<(), Failure> {
    if app.out.is_json() {
        app.out.record(&WatchedFileRecord { v: 1, file, status: kind.as_str(), problem })?;
    } else {
        app.out.note(format_args!("{}: {}: {}", clean(file), kind.as_str(), clean(problem)));
    }
    app.out.flush()
}
