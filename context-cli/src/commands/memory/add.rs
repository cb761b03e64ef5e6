//! `memory add`: adds a text, a fact, a block, a file of texts or a chat to the memories.

mod note;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_runtime::memory::EPISODE;
use context_runtime::{
    CancelSignal, MessageId, Store, Timestamp,
    memory::{CapturedMessage, MemoryScope},
    store::{MemoryId, MemorySource},
    trajectory::SessionId,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::capture::{CaptureTarget, Counts, SessionMessages, capture};
use super::session_memories::session_memories;
use super::{episodic, lines, records_of};
use crate::app::{App, Outcome};
use crate::commands::branch_end;
use crate::error::Failure;
use crate::input;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::{clean, count, parse_time};

/// The session of texts that belong to none.
const NO_SESSION: &str = "cli";

/// Remember a text, a fact, a note, a file of texts or a chat.
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["text", "fact", "block", "from", "chat"]))]
#[command(after_help = "\
Examples:
  context memory add 'I fly from Lisbon only.' --speaker Ada --at 2026-03-01
  context memory add --fact Ada 'works at' Initech --one --since 2026-03-01
  context memory add --block user 'Ada, engineer; answers in one paragraph.'
  context memory add --from notes.jsonl --project travel
  context memory add --chat support-7        what was said on its active branch

A text is stored word for word as an `episode`, and its id is printed. A --fact is a subject, a
relation and an object; with --one it ends the fact before it. A --block is a named note: TEXT
replaces its content.
--from reads one JSON object per line: {\"text\": …, \"speaker\"?, \"at\"?, \"session\"?,
\"message\"?}; `-` is standard input. A line that cannot be read refuses the file, and nothing is
written. Nothing is stored twice: a message is identified by its id in its session, or by its text
if it has no id. The same command can therefore be run again, for example to continue after Ctrl-C.
A forgotten memory stays forgotten.")]
pub(super) struct Args {
    /// The text
    #[arg(value_name = "TEXT", conflicts_with_all = ["fact", "from", "chat"])]
    text: Vec<String>,
    /// The speaker
    #[arg(long, value_name = "NAME", conflicts_with_all = ["fact", "block", "from", "chat"])]
    speaker: Option<String>,
    /// The time of the text, such as 2026-03-01 or 2026-03-01T09:30:00Z [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with_all = ["block", "from", "chat"])]
    at: Option<Timestamp>,
    /// The id of the message [default: derived from the text]
    #[arg(long, value_name = "ID", conflicts_with_all = ["block", "from", "chat"])]
    message: Option<String>,
    /// The session of the text, which may differ from the scope's [default: that of --session, else
    /// `cli`]
    #[arg(long = "in", id = "in_session", value_name = "SESSION", conflicts_with_all = ["block", "chat"])]
    in_session: Option<String>,
    /// A fact instead of a text
    #[arg(long, num_args = 3, value_names = ["SUBJECT", "RELATION", "OBJECT"],
        conflicts_with_all = ["block", "from", "chat"])]
    fact: Vec<String>,
    /// End the earlier fact with the same subject and relation
    #[arg(long, requires = "fact")]
    one: bool,
    /// The start of the time in which the fact holds
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "fact")]
    since: Option<Timestamp>,
    /// The end of the time in which the fact holds
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "fact")]
    until: Option<Timestamp>,
    /// Set the text of this note
    #[arg(long, value_name = "NAME", requires = "text", conflicts_with_all = ["from", "chat"])]
    block: Option<String>,
    /// Texts from a file of JSON Lines
    #[arg(long, value_name = "FILE", conflicts_with = "chat")]
    from: Option<PathBuf>,
    /// The messages of a chat of the store
    #[arg(long, value_name = "NAME")]
    chat: Option<String>,
    /// The branch of the chat [default: the active one]
    #[arg(long, value_name = "NAME", requires = "chat")]
    branch: Option<String>,
}

/// JSON record of `memory add` for a text, a fact or a block.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct MemoryAddRecord<'a> {
    v: u32,
    kind: &'a str,
    /// The ids of its memories; a long text has several. Empty if it was forgotten before.
    #[schemars(with = "Vec<String>")]
    ids: &'a [MemoryId],
    /// The scope of the memory.
    #[schemars(with = "serde_json::Value")]
    scope: &'a MemoryScope,
    /// The source.
    #[schemars(with = "Option<serde_json::Value>")]
    source: Option<&'a MemorySource>,
    /// `added`, `there` if it was already remembered, or `left_out` if it was forgotten before.
    status: &'static str,
}

/// JSON record of `memory add` for a file or a chat.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct MemoryAddAllRecord<'a> {
    v: u32,
    /// The file or the chat.
    from: &'a str,
    #[schemars(with = "serde_json::Value")]
    scope: &'a MemoryScope,
    /// The number of messages added.
    added: usize,
    /// The number of messages that were already remembered.
    there: usize,
    /// The number of messages left out: they are empty, come from neither a person nor a model, or
    /// were forgotten before.
    left_out: usize,
}

pub(super) async fn run(args: Args, scope: MemoryScope, app: &mut App) -> Result<Outcome, Failure> {
    let elsewhere = |session: &SessionId| {
        args.in_session.as_deref().is_some_and(|named| named != session.as_str())
    };
    if scope.session.as_ref().is_some_and(elsewhere) {
        let usage = "--in and --session name different sessions: leave one of them out";
        return Err(Failure::Usage(usage.to_owned()));
    }
    if let Some(path) = &args.from {
        return file(&args, path, &scope, app).await;
    }
    if let Some(name) = &args.chat {
        return chat(&args, name, scope, app).await;
    }
    if !args.fact.is_empty() || args.block.is_some() {
        return note::run(args, &scope, app).await;
    }
    text(args, &scope, app).await
}

/// Returns the session of the texts.
fn session(args: &Args, scope: &MemoryScope, other: &str) -> SessionId {
    let named = args.in_session.as_deref().map(SessionId::from);
    named.or_else(|| scope.session.clone()).unwrap_or_else(|| SessionId::from(other))
}

async fn text(args: Args, scope: &MemoryScope, app: &mut App) -> Result<Outcome, Failure> {
    let text = args.text.join(" ");
    if text.trim().is_empty() {
        return Err(Failure::Usage("the text is empty: there is nothing to remember".to_owned()));
    }
    let session = session(&args, scope, NO_SESSION);
    let name = args.message.as_deref().map(MessageId::from);
    let message = lines::message(&session, text, name, &mut HashMap::new());
    let message = lines::said_by(message, args.speaker, args.at.unwrap_or_else(|| app.now()))?;
    let store = app.store_or_new().await?;
    let source = MemorySource::message(session.clone(), message.id.clone());
    let sessions = vec![SessionMessages { session, messages: vec![message] }];
    let (counts, done) = remember(app, &store, scope, sessions, 1, String::new()).await?;
    done?;
    let status = match counts {
        Counts { added: 1.., .. } => "added",
        Counts { there: 1.., .. } => "there",
        _ => "left_out",
    };
    let ids = session_memories(records_of(&*store)?, scope, source.clone())
        .await?
        .into_values()
        .next()
        .unwrap_or_default();
    report(app, EPISODE, &ids, scope, Some(&source), status)
}

async fn file(
    args: &Args,
    path: &Path,
    scope: &MemoryScope,
    app: &mut App,
) -> Result<Outcome, Failure> {
    input::announce(&app.out, path, "messages");
    let input = input::read(path)?;
    let session = session(args, scope, &input::stem(&input));
    let sessions = lines::read(&input, &session, scope.session.is_some(), app.now())?;
    let store = app.store_or_new().await?;
    all(app, &store, input.shown(), scope, sessions).await
}

async fn chat(
    args: &Args,
    name: &str,
    scope: MemoryScope,
    app: &mut App,
) -> Result<Outcome, Failure> {
    if scope.session.as_ref().is_some_and(|session| session.as_str() != name) {
        return Err(Failure::Usage(
            "the session of a chat is the chat itself: leave --session out, or name the chat"
                .to_owned(),
        ));
    }
    let store = app.store_to_write().await?;
    records_of(&*store)?;
    let history = store.history();
    let chat = app.chat(name);
    let end = branch_end(history, &chat, args.branch.as_deref()).await?;
    let chain = history.chain(&chat, &end, &context_runtime::store::Window::Whole).await?;
    let message = |node: &Arc<context_runtime::store::Node>| {
        let message = Arc::clone(node.message().ok()?);
        Some(CapturedMessage::new(node.id.clone(), message).at(node.created_at))
    };
    let sessions = vec![SessionMessages {
        session: SessionId::from(name),
        messages: chain.iter().filter_map(message).collect(),
    }];
    all(app, &store, name, &scope, sessions).await
}

/// Adds messages and shows the progress.
async fn remember(
    app: &App,
    store: &Arc<dyn Store>,
    scope: &MemoryScope,
    sessions: Vec<SessionMessages>,
    messages: usize,
    what: String,
) -> Result<(Counts, Result<(), Failure>), Failure> {
    let records = records_of(&**store)?;
    let target = CaptureTarget { memory: episodic(store, scope)?, records, scope, now: app.now() };
    let interrupt: CancelSignal = app.interrupt();
    let bar = Progress::new(&app.out, format!("remembering {what}"));
    bar.steps("message", messages);
    let done = capture(&target, sessions, &interrupt, &bar).await;
    Ok(done)
}

/// Adds everything of a file or a chat, and reports the numbers, also after an interrupt.
async fn all(
    app: &mut App,
    store: &Arc<dyn Store>,
    from: &str,
    scope: &MemoryScope,
    sessions: Vec<SessionMessages>,
) -> Result<Outcome, Failure> {
    app.out.outlive_reader();
    let messages = sessions.iter().map(|sessions| sessions.messages.len()).sum();
    let shown = clean(from).into_owned();
    let (counts, done) = remember(app, store, scope, sessions, messages, shown.clone()).await?;
    let Counts { added, there, left_out } = counts;
    if app.out.is_json() {
        app.out.record(&MemoryAddAllRecord { v: 1, from, scope, added, there, left_out })?;
    } else {
        let head = app.out.paint(Style::Green, "remembered").to_string();
        let mut facts = vec![format!("{head} {} of {shown}", count(added, "message"))];
        let others = [(there, "there before"), (left_out, "left out")];
        facts.extend(others.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
        app.out.line(facts.join(" · "))?;
        if left_out > 0 {
            app.out.note(
                "left out: empty messages, messages that neither a person nor a model wrote, and forgotten ones",
            );
        }
    }
    done.map(|()| Outcome::Success)
}

/// Reports the outcome for one item.
fn report(
    app: &mut App,
    kind: &str,
    ids: &[MemoryId],
    scope: &MemoryScope,
    source: Option<&MemorySource>,
    status: &'static str,
) -> Result<Outcome, Failure> {
    if app.out.is_json() {
        app.out.record(&MemoryAddRecord { v: 1, kind, ids, scope, source, status })?;
        return Ok(Outcome::Success);
    }
    for id in ids {
        let id = app.out.paint(Style::Yellow, clean(id.as_str())).to_string();
        let before = if status == "there" { " (there before)" } else { "" };
        app.out.line(format_args!("{id}{before}"))?;
    }
    if status == "left_out" {
        app.out.note(
            "this memory was forgotten before and was not added; give another --message to add it",
        );
    }
    Ok(Outcome::Success)
}
