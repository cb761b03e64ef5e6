//! `import`: reads transcripts into chats. A file is read as a whole before anything of it is written.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use context_runtime::openai::chat as openai;
use context_runtime::{
    BranchName, CancelSignal, ChatRef, Commit, CommitOutcome, Created, Diagnostic, HistoryStore, Json,
    MessageId, Metadata, NewChat, Node, Role, Target, Timestamp, limits,
};
use serde::Serialize;

use super::prompt;
use crate::app::{App, Done};
use crate::error::Failure;
use crate::input::Input;
use crate::output::Style;
use crate::text::{clean, count, preview};
use crate::transcript::{self, Conversation, Source};

const EXAMPLES: &str = "\
A file is a list of messages, an object with `messages`, `history` or `traj`, a list of
such objects, or JSON Lines of either. Everything else in it is kept, so that
`context export --to source` gives it back.

Examples:
  context import support.json                one chat `support`, or `support-0001` and so on
  context import a.jsonl b.jsonl             several files
  curl -s URL | context import - --chat day  from standard input
  context import support.json --prompt       and show what a model would get

Reading the same file again changes nothing and says so. Messages are named m1, m2, …";

/// Read transcripts into chats.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files to read; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Name of the chat, or the beginning of the names [default: the file's name]
    #[arg(long, value_name = "NAME")]
    chat: Option<String>,
    /// How messages are written
    #[arg(long, value_enum, default_value_t = Wire::Auto)]
    from: Wire,
    /// Then show what a model would get of each chat
    #[arg(long)]
    prompt: bool,
}

/// How messages are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Wire {
    /// Find out
    Auto,
    /// OpenAI Chat Completions
    Openai,
}

/// JSON record of `import`: what became of one conversation.
#[derive(Serialize)]
struct ImportRecord<'a> {
    v: u32,
    chat: &'a str,
    file: &'a str,
    messages: usize,
    /// `imported`, or `unchanged` if it was stored already.
    status: &'static str,
    /// What was kept without being understood.
    diagnostics: &'a [Diagnostic],
}

/// A conversation, ready to be written.
struct Prepared {
    chat: String,
    new: NewChat,
    nodes: Vec<Arc<Node>>,
    diagnostics: Vec<Diagnostic>,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Done, Failure> {
    let (Wire::Auto | Wire::Openai) = args.from;
    if args.chat.is_some() && args.files.len() > 1 {
        return Err(Failure::Usage("--chat names the chats of one file; import the files one by one".into()));
    }
    let mut opened = None;
    for path in &args.files {
        let input = Input::read(path)?;
        let name = args.chat.clone().unwrap_or_else(|| input.stem());
        let prepared = prepare(app, &input, &name)?;
        // Only a file that can be imported makes a store; until then Ctrl-C just ends the process.
        let (store, interrupt) = match &opened {
            Some(opened) => opened,
            None => opened.insert((app.store_or_new().await?, app.interrupt())),
        };
        write_file(app, store.history(), &input, &prepared, interrupt).await?;
        for prepared in prepared.iter().filter(|_| args.prompt) {
            interrupt.check("import")?;
            prompt::print(app, Arc::clone(store), &prepared.chat, None).await?;
        }
    }
    Ok(Done::Fine)
}

/// Reads a whole file, and refuses it as a whole.
fn prepare(app: &App, input: &Input, name: &str) -> Result<Vec<Prepared>, Failure> {
    let at = app.now();
    let conversations = transcript::read(input)?;
    let several = conversations.len() > 1;
    let number = |index: usize| if several { format!("{name}-{:04}", index + 1) } else { name.to_owned() };
    let mut all = Vec::with_capacity(conversations.len());
    for conversation in conversations {
        let chat = number(conversation.source.index);
        let (nodes, diagnostics) = lift(input, &conversation, at)?;
        let source = conversation.source.to_json();
        let mut new = NewChat::new(app.chat(&chat), at);
        new.title = title(&nodes);
        new.metadata = Metadata::default().with(Source::KEY, source);
        limits::check_new_chat(&new)?;
        for commit in commits(&new.chat, &nodes, at) {
            limits::check_commit(&commit)?;
        }
        all.push(Prepared { chat, new, nodes, diagnostics });
    }
    Ok(all)
}

/// The nodes of a conversation, named by position, and what could not be understood of them.
fn lift(
    input: &Input,
    conversation: &Conversation<'_>,
    at: Timestamp,
) -> Result<(Vec<Arc<Node>>, Vec<Diagnostic>), Failure> {
    let (mut nodes, mut diagnostics) = (Vec::with_capacity(conversation.messages.len()), Vec::new());
    for (i, raw) in conversation.messages.iter().enumerate() {
        let lifted = openai::lift(&Json::from((*raw).to_owned())).map_err(|source| Failure::Message {
            file: input.shown.clone(),
            line: input.line_of(raw.get()),
            conversation: conversation.source.index + 1,
            message: i + 1,
            source,
        })?;
        let id = format!("m{}", i + 1);
        for mut diagnostic in lifted.diagnostics {
            diagnostic.path = format!("{id} {}", diagnostic.path);
            diagnostics.push(diagnostic);
        }
        nodes.push(Arc::new(Node::new(id, lifted.message, at)));
    }
    Ok((nodes, diagnostics))
}

/// The beginning of what the user said first.
fn title(nodes: &[Arc<Node>]) -> Option<String> {
    let first = nodes.iter().find(|node| node.role() == Some(Role::User))?;
    let text = preview(&first.message().ok().map(|message| message.plain_text().into_owned())?, 60);
    (!text.is_empty()).then_some(text)
}

/// The commits that write a chat: one, unless there are more messages than one takes. Message ids follow from
/// the position, so each commit is safe to repeat.
fn commits(chat: &ChatRef, nodes: &[Arc<Node>], at: Timestamp) -> Vec<Commit> {
    let mut expected: Option<MessageId> = None;
    let chunks = nodes.chunks(limits::MAX_COMMIT_ITEMS);
    chunks
        .map(|chunk| {
            let target = Target::Extend { branch: BranchName::main(), expected: expected.clone() };
            expected = chunk.last().map(|node| node.id.clone());
            let mut commit = Commit::new(chat.clone(), target, at);
            commit.nodes = chunk.to_vec();
            commit
        })
        .collect()
}

async fn write_file(
    app: &mut App,
    history: &dyn HistoryStore,
    input: &Input,
    all: &[Prepared],
    interrupt: &CancelSignal,
) -> Result<(), Failure> {
    let total = all.len();
    let (mut imported, mut unchanged, mut messages) = (0, 0, 0);
    let mut names = None;
    for (i, prepared) in all.iter().enumerate() {
        interrupt.check("import")?;
        let is_new = write_chat(history, input, prepared).await?;
        app.out.diagnostics(&prepared.chat, &prepared.diagnostics);
        progress(app, &input.shown, i + 1, total);
        *(if is_new { &mut imported } else { &mut unchanged }) += 1;
        messages += if is_new { prepared.nodes.len() } else { 0 };
        names = Some((names.map_or(prepared.chat.as_str(), |(first, _)| first), prepared.chat.as_str()));
        if app.out.is_json() {
            app.out.record(&ImportRecord {
                v: 1,
                chat: &prepared.chat,
                file: &input.name,
                messages: prepared.nodes.len(),
                status: if is_new { "imported" } else { "unchanged" },
                diagnostics: &prepared.diagnostics,
            })?;
        }
    }
    if app.out.is_json() {
        return Ok(());
    }
    let names = match names {
        None => String::new(),
        Some((first, last)) if first == last => format!(": {first}"),
        Some((first, last)) => format!(": {first} … {last}"),
    };
    let done = app.out.paint(Style::Green, "imported").to_string();
    let (chats, names, file) = (count(imported, "chat"), clean(&names), clean(&input.shown));
    app.out.line(match (imported, unchanged) {
        (0, _) => {
            format!("unchanged: {} of {} stored before{names}", count(unchanged, "chat"), file)
        }
        (_, 0) => format!("{done} {chats}, {} from {}{names}", count(messages, "message"), file),
        _ => format!(
            "{done} {chats}, {} from {}, {} stored before{names}",
            count(messages, "message"),
            file,
            count(unchanged, "chat"),
        ),
    })
}

/// Writes a chat and says whether it, or a part of it, was new.
async fn write_chat(history: &dyn HistoryStore, input: &Input, prepared: &Prepared) -> Result<bool, Failure> {
    let taken = || Failure::Taken { chat: prepared.chat.clone(), file: input.shown.clone() };
    let mut is_new = match history.create_chat(prepared.new.clone()).await? {
        Created::New(_) => true,
        Created::Existing(chat)
            if chat.metadata.get(Source::KEY) == prepared.new.metadata.get(Source::KEY) =>
        {
            false
        }
        Created::Existing(_) => return Err(taken()),
    };
    for commit in commits(&prepared.new.chat, &prepared.nodes, prepared.new.at) {
        match history.commit(commit).await? {
            CommitOutcome::Applied(_) => is_new = true,
            CommitOutcome::Replayed(_) => {}
            _ => return Err(taken()),
        }
    }
    Ok(is_new)
}

/// Shows on a terminal how far a long import is.
fn progress(app: &App, file: &str, done: usize, total: usize) {
    let mut stderr = std::io::stderr();
    if total < 200
        || app.out.is_json()
        || !stderr.is_terminal()
        || (!done.is_multiple_of(50) && done != total)
    {
        return;
    }
    let end = if done == total { "\r\x1b[K" } else { "" };
    // Decoration: if it cannot be shown, nothing is lost.
    let _ = write!(stderr, "\r{file}: {done} of {total} chats{end}");
}

#[cfg(test)]
mod tests {
    use context_runtime::Message;

    use super::*;

    #[test]
    fn a_chat_of_any_length_is_written_in_commits_that_follow_each_other() {
        let at = Timestamp::default();
        let nodes: Vec<_> = (0..limits::MAX_COMMIT_ITEMS + 1)
            .map(|i| Arc::new(Node::new(format!("m{i}"), Message::from("x"), at)))
            .collect();
        let commits = commits(&ChatRef::new("u", "c"), &nodes, at);
        let shape: Vec<_> = commits.iter().map(|commit| (commit.base(), commit.nodes.len())).collect();
        let last = &nodes[limits::MAX_COMMIT_ITEMS - 1].id;
        assert_eq!(shape, [(None, limits::MAX_COMMIT_ITEMS), (Some(last), 1)]);
        commits.iter().for_each(|commit| limits::check_commit(commit).unwrap());
    }
}
