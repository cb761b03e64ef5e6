//! `export`: writes chats as transcripts, in their original form or in a provider's form.

use std::collections::HashSet;
use std::sync::Arc;

use clap::ValueEnum;
use context_runtime::transcript::{
    self, ChatContent, ExportedChat, Format, TranscriptSource, is_log_entry, locate_by_id,
};
use context_runtime::{
    ChatRef, Diagnostic, Error, Json, Message, MessageId, Store, limits,
    store::{HistoryStore, NodeKind, PlacedNode, Window},
    transfer::{self, LeftBehind},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::export_html;
use super::export_markdown;
use super::leave_behind::LeaveBehindArgs;
use super::output_args::OutputArgs;
use super::{all_chats, all_messages, all_readable, branch_end, existing_chat, source_of};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::progress::Progress;

/// Write chats as transcripts.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context export support-7                   the conversation as it stood in its file
  context export --all --file support.json   the whole file again
  context export support-7 --to openai       messages as Chat Completions takes them
  context export support-7 --to uimessage    the same for a page that is made with the AI SDK
  context export support-7 --to html --output support-7.html   a page to read and to send on
  context export --all --to jsonl >all.jsonl everything, for another store or for keeping
  context export support-7 --to md >trip.md  a document for people, reviews and issue trackers

`source` writes JSON values equal to those that were imported, followed by later additions. A chat
that was not imported is written as a list of messages. A chat that was imported as a tree is
written with all its branches, unless --branch names one. `jsonl` keeps all of a chat: branches,
checkpoints, fragments, revisions, blobs, ids and times; it is written page by page, so a chat may
have any length. It does not contain rounds, memories and streams: if there are any, --without has
to name them. Earlier versions of fragments stay behind too, and are reported. A provider's form leaves out content that the provider does not support, and each loss
is reported on standard error. It is a list of messages; `openai-responses` and `gemini` are
repaired for sending and become an object if there is a system prompt, which these formats keep
apart. `md` is a document for people: it is written once and never read back. Of several chats, one
document follows the other. Long results are cut in the middle, unless --full is given; images are
named with type and size.")]
pub(crate) struct Args {
    /// The chats
    #[arg(value_name = "CHAT", required_unless_present = "all", conflicts_with = "all")]
    chats: Vec<String>,
    /// All chats of the user
    #[arg(long)]
    all: bool,
    /// Only chats that came from the file of this name
    #[arg(long, value_name = "NAME", requires = "all")]
    file: Option<String>,
    /// The form
    #[arg(long, value_enum, default_value_t = Form::Source)]
    to: Form,
    /// The branch [default: the active one of each chat; all of a tree]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
    /// With --to md: write long results in full
    #[arg(long)]
    full: bool,
    /// With --to jsonl: write unreadable bodies as they are; no import accepts them
    #[arg(long)]
    as_is: bool,
    #[command(flatten)]
    may_stay: LeaveBehindArgs,
}

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The form of the imported file
    Source,
    /// OpenAI Chat Completions
    Openai,
    /// OpenAI Responses
    OpenaiResponses,
    /// Anthropic Messages
    Anthropic,
    /// Gemini
    Gemini,
    /// UIMessages of the AI SDK
    Uimessage,
    /// Whole chats, which `context import` reads
    Jsonl,
    /// A Markdown document for people
    Md,
    /// A page for a browser, in one file
    Html,
}

impl Form {
    fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Openai => "openai",
            Self::OpenaiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Uimessage => "uimessage",
            Self::Jsonl => "jsonl",
            Self::Md => "md",
            Self::Html => "html",
        }
    }

    /// Returns the format of a provider, or `None` for the form of the source.
    fn format(self) -> Option<Format> {
        match self {
            Self::Source | Self::Md | Self::Html => None,
            Self::Openai | Self::Jsonl => Some(Format::OpenaiChat),
            Self::OpenaiResponses => Some(Format::OpenaiResponses),
            Self::Anthropic => Some(Format::Anthropic),
            Self::Gemini => Some(Format::Gemini),
            Self::Uimessage => Some(Format::Uimessage),
        }
    }
}

/// JSON record of `export`: one chat.
#[derive(Serialize, JsonSchema)]
pub(super) struct ExportRecord<'a> {
    v: u32,
    chat: &'a str,
    /// The file from which the chat was imported.
    file: Option<&'a str>,
    /// `source`, `openai`, `openai-responses`, `anthropic`, `gemini` or `uimessage`.
    to: &'static str,
    /// The conversation in its original form, a list of messages, or an object that contains such a
    /// list.
    #[schemars(with = "serde_json::Value")]
    conversation: Json,
    /// Content that was left out, with reasons.
    #[schemars(with = "Vec<serde_json::Value>")]
    diagnostics: &'a [Diagnostic],
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    args.output.redirect(&mut app.out)?;
    let history = store.history();
    let mut chats = Vec::new();
    if args.all {
        for summary in all_chats(app, history).await? {
            let id = summary.chat.chat.chat.as_str();
            let source = source_of(id, &summary.chat.metadata)?;
            let file = source.as_ref().map(|source| source.file.as_str());
            if args.file.is_none() || args.file.as_deref() == file {
                chats.push((id.to_owned(), source));
            }
        }
        let file = |source: &Option<TranscriptSource>| {
            source.as_ref().map(|source| (source.file.clone(), source.index))
        };
        chats.sort_by_cached_key(|(id, source)| (file(source), id.clone()));
        if chats.is_empty() {
            return Err(nothing(app, args.file.as_deref()).into());
        }
    } else {
        for id in args.chats {
            let chat = existing_chat(history, &app.chat(&id)).await?;
            let source = source_of(&id, &chat.metadata)?;
            chats.push((id, source));
        }
    }
    if args.to == Form::Jsonl {
        let chats: Vec<_> = chats.iter().map(|(id, _)| app.chat(id)).collect();
        if args.branch.is_none() {
            let mut left = LeftBehind::default();
            if args.all && args.file.is_none() {
                left = LeftBehind::of_user(&*store, &app.user).await?;
            } else {
                for chat in &chats {
                    left = left.and(LeftBehind::of_chat(&*store, chat).await?);
                }
            }
            args.may_stay.check(app, &left)?;
        }
        return jsonl(app, &*store, &chats, args.branch.as_deref(), args.as_is).await;
    }
    if args.as_is {
        return Err(Failure::Usage(
            "--as-is needs --to jsonl: no other form holds such bodies".into(),
        ));
    }
    if args.full && args.to != Form::Md {
        return Err(Failure::Usage("--full needs --to md: the other forms cut nothing".into()));
    }
    if args.to == Form::Html {
        let chats = chats.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>();
        return export_html::run(app, store, &chats, args.branch.as_deref()).await;
    }
    if args.to == Form::Md {
        let chats: Vec<_> = chats.into_iter().map(|(id, _)| id).collect();
        return export_markdown::run(app, store, &chats, args.branch.as_deref(), args.full).await;
    }
    if args.to == Form::Source && !app.out.is_json() {
        check_same_source(&chats)?;
    }
    let working = Progress::new(&app.out, "exporting");
    working.steps("chat", chats.len());
    let (mut names, mut all) = (Vec::with_capacity(chats.len()), Vec::new());
    for (id, source) in chats {
        let source = source.filter(|_| args.to == Form::Source);
        let chat = app.chat(&id);
        let (content, diagnostics) =
            content(history, &chat, args.branch.as_deref(), args.to, source.as_ref()).await?;
        app.out.diagnostics(&id, &diagnostics);
        names.push((id, diagnostics));
        all.push(ExportedChat::new(source, content));
        working.advance(1);
    }
    drop(working);
    write(app, &names, &all, args.all, args.to)?;
    Ok(Outcome::Success)
}

/// Writes whole chats page by page. The lines are records already, with or without `--json`.
async fn jsonl(
    app: &mut App,
    store: &dyn Store,
    chats: &[ChatRef],
    branch: Option<&str>,
    as_is: bool,
) -> Result<Outcome, Failure> {
    if branch.is_some() {
        return Err(Failure::Usage("jsonl holds whole chats; leave --branch out".into()));
    }
    let interrupt = app.interrupt();
    let working = Progress::new(&app.out, "exporting");
    if working.is_shown() {
        working.steps("message", total(store.history(), chats).await);
    }
    let mut progress = |messages| working.reach(messages);
    let out = app.out.writer();
    match as_is {
        true => transfer::export_jsonl_as_is(store, chats, out, &interrupt, &mut progress).await?,
        false => transfer::export_jsonl(store, chats, out, &interrupt, &mut progress).await?,
    };
    Ok(Outcome::Success)
}

/// Returns the number of messages of chats, for the remaining time. `None` if there are so many
/// chats that counting takes longer than people wait to see that something happens.
async fn total(history: &dyn HistoryStore, chats: &[ChatRef]) -> Option<usize> {
    if chats.len() > limits::MAX_PAGE {
        return None;
    }
    let mut total = 0;
    for chat in chats {
        total += usize::try_from(history.chat_size(chat).await.ok()?.messages).ok()?;
    }
    Some(total)
}

fn nothing(app: &App, file: Option<&str>) -> Error {
    let error = Error::not_found("export", "chat", "any").with("user", &app.user);
    match file {
        Some(file) => error.with("file", file),
        None => error,
    }
}

/// Several chats fit into one file only if they came from one file, each from a different position.
fn check_same_source(chats: &[(String, Option<TranscriptSource>)]) -> Result<(), Failure> {
    let mut files: Vec<_> = chats
        .iter()
        .map(|(id, source)| match source {
            Some(source) => (source.file.clone(), Some((source.layout, source.count))),
            None => (format!("chat {id}, which was not imported"), None),
        })
        .collect();
    files.sort();
    files.dedup();
    if files.len() > 1 {
        return Err(Failure::Mixed { sources: files.into_iter().map(|(name, _)| name).collect() });
    }
    let places: HashSet<_> =
        chats.iter().filter_map(|(_, source)| Some(source.as_ref()?.index)).collect();
    if files.iter().any(|(_, form)| form.is_some()) && places.len() < chats.len() {
        return Err(Failure::Mixed {
            sources: chats.iter().map(|(id, _)| format!("chat {id}")).collect(),
        });
    }
    Ok(())
}

/// Returns a chat in the requested form, with diagnostics about content that the form cannot hold.
async fn content(
    history: &dyn HistoryStore,
    chat: &ChatRef,
    branch: Option<&str>,
    to: Form,
    source: Option<&TranscriptSource>,
) -> Result<(ChatContent, Vec<Diagnostic>), Failure> {
    let log = source.filter(|source| source.format.is_log());
    if let (Some(source), None) = (log.filter(|source| source.format.is_tree()), branch) {
        let nodes = all_messages(history, chat).await?;
        all_readable(chat.chat.as_str(), nodes.iter().map(|placed| &*placed.node))?;
        return Ok(ChatContent::of_log(source, &nodes).map_err(Error::from)?);
    }
    let nodes = chain(history, chat, branch).await?;
    all_readable(chat.chat.as_str(), nodes.iter().map(|placed| &*placed.node))?;
    if let Some(source) = log {
        return Ok(ChatContent::of_log(source, &nodes).map_err(Error::from)?);
    }
    let (mut ids, mut messages) =
        (Vec::with_capacity(nodes.len()), Vec::with_capacity(nodes.len()));
    for PlacedNode { node, .. } in
        nodes.iter().filter(|placed| placed.node.kind != NodeKind::Boundary)
    {
        let message = node.message().map_err(Error::from)?;
        if to == Form::Source || !is_log_entry(message) {
            ids.push(node.id.clone());
            messages.push(Arc::clone(message));
        }
    }
    lower(messages, &ids, to, source)
}

/// Returns the messages of a branch, each with its predecessor as parent.
async fn chain(
    history: &dyn HistoryStore,
    chat: &ChatRef,
    branch: Option<&str>,
) -> Result<Vec<PlacedNode>, Failure> {
    let end = branch_end(history, chat, branch).await?;
    let chain = history.chain(chat, &end, &Window::Whole).await?;
    let (mut nodes, mut parent) = (Vec::with_capacity(chain.len()), None);
    for (depth, node) in (0..).zip(chain.iter()) {
        nodes.push(PlacedNode::new(Arc::clone(node), parent, depth));
        parent = Some(node.id.clone());
    }
    Ok(nodes)
}

/// Lowers messages to the requested form. Diagnostics name messages by id.
fn lower(
    messages: Vec<Arc<Message>>,
    ids: &[MessageId],
    to: Form,
    source: Option<&TranscriptSource>,
) -> Result<(ChatContent, Vec<Diagnostic>), Failure> {
    let (content, mut diagnostics) = match to.format() {
        Some(format) => format.lower(messages).map_err(Error::from)?,
        None => {
            let format = source.map_or(Format::OpenaiChat, |source| source.format);
            let (messages, diagnostics) = format.lower_source(messages);
            (ChatContent::Messages(messages), diagnostics)
        }
    };
    diagnostics.iter_mut().for_each(|diagnostic| locate_by_id(diagnostic, ids));
    Ok((content, diagnostics))
}

/// Writes the chats, whose ids and diagnostics are `names`.
fn write(
    app: &mut App,
    names: &[(String, Vec<Diagnostic>)],
    all: &[ExportedChat],
    as_file: bool,
    to: Form,
) -> Result<(), Failure> {
    if app.out.is_json() {
        for ((chat, diagnostics), exported) in names.iter().zip(all) {
            let file = exported.source().map(|source| source.file.as_str());
            let conversation = exported.to_json();
            app.out.record(&ExportRecord {
                v: 1,
                chat,
                file,
                to: to.as_str(),
                conversation,
                diagnostics,
            })?;
        }
        return Ok(());
    }
    let text = match all {
        [exported] if !as_file => exported.to_text(),
        _ => transcript::to_file_text(all),
    };
    let source = all.first().and_then(ExportedChat::source);
    if let Some(source) = source.filter(|source| as_file && all.len() < source.count) {
        app.out.note(format_args!(
            "{} of {} conversations of {} are here",
            all.len(),
            source.count,
            source.file
        ));
    }
    app.out.content(text.trim_end_matches('\n'))
}
