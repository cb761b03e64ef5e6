//! `streams`: lists, shows and drops answer streams, running and finished.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytesize::ByteSize;
use context_runtime::streams::{AnswerReader, StreamError, Streams};
use context_runtime::{
    ChatRef, Error, ErrorKind, Store, Timestamp, limits,
    store::{PageWalk, StoredStream, StreamPrune, StreamState, StreamStore, StreamsPruned},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::removal_report::{RemovalArgs, confirm, counted, end, not_reached};
use super::{all_chats, existing_chat};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::table::{Cell, Column, Table};
use crate::text::{clean, count, grouped, one_line, parse_duration, time};

/// List, read and remove answer streams.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context streams list support-7             the streams and their states
  context streams show support-7 answer-1    its chunks, as they are
  context streams show support-7 answer-1 --offset 40 --follow
  context streams prune --older-than 7d --dry-run

A program that streams an answer may store its chunks while they arrive, so that a reader that lost
its connection can continue. The complete answer is stored as a message, and its stream can be removed
when no program reads it any more.")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// List the streams of a chat
    #[command(after_help = "\
Example:
  context streams list support-7")]
    List {
        /// The chat
        chat: String,
    },
    /// Write the chunks of a stream
    #[command(after_help = "\
Examples:
  context streams show support-7 answer-1
  context streams show support-7 answer-1 --follow --json

With --json there is a record for each chunk, with its offset and its bytes as `text`, or as `base64`
if they are not text. The exit status is 1 if the answer failed.")]
    Show {
        /// The chat
        chat: String,
        /// The stream
        stream: String,
        /// Start at this chunk, counted from 0
        #[arg(long, value_name = "N", default_value_t = 0)]
        offset: u64,
        /// Wait for further chunks until the stream ends
        #[arg(long)]
        follow: bool,
    },
    /// Remove streams that ended long ago
    #[command(after_help = "\
Examples:
  context streams prune --dry-run            what would go
  context streams prune --chat support-7 --older-than 1h --abandoned 1d   asks first
  context streams prune --older-than 7d --yes

The answers that were stored as messages stay.")]
    Prune {
        /// Only of this chat [default: of all chats of the user]
        #[arg(long, value_name = "CHAT")]
        chat: Option<String>,
        /// Remove streams that ended longer ago than this
        #[arg(long, value_name = "TIME", default_value = "7d", value_parser = parse_duration)]
        older_than: Duration,
        /// Also remove unfinished streams that were not written to for longer than this
        #[arg(long, value_name = "TIME", value_parser = parse_duration)]
        abandoned: Option<Duration>,
        #[command(flatten)]
        removal: RemovalArgs,
    },
}

/// JSON record of `streams list`: one stream.
#[derive(Serialize, JsonSchema)]
pub(super) struct StreamRecord<'a> {
    v: u32,
    chat: &'a str,
    stream: &'a str,
    /// `queued`, `running`, `completed`, `failed` or `cancelled`.
    state: &'static str,
    /// The number of restarts.
    run: u32,
    chunks: u64,
    bytes: u64,
    /// The error, if the stream failed.
    error: Option<&'a str>,
    created_at: String,
    /// The time at which cancellation was requested.
    cancel_requested_at: Option<String>,
    finished_at: Option<String>,
    updated_at: String,
}

/// JSON record of `streams show`: one chunk.
#[derive(Serialize, JsonSchema)]
pub(super) struct ChunkRecord<'a> {
    v: u32,
    chat: &'a str,
    stream: &'a str,
    /// The number of the chunk.
    offset: u64,
    text: Option<&'a str>,
    base64: Option<String>,
}

/// JSON record of `streams prune`: the removed streams.
#[derive(Serialize, JsonSchema)]
pub(super) struct StreamPruneRecord {
    v: u32,
    #[serde(flatten)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pruned: StreamsPruned,
    /// `would_go` or `removed`.
    status: &'static str,
    /// In a dry run, the streams that would go.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    items: Vec<StreamItem>,
    not_reached: Vec<&'static str>,
}

/// A stream that would go.
#[derive(Serialize, JsonSchema)]
struct StreamItem {
    chat: String,
    stream: String,
    bytes: u64,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let looks = match &args.action {
        Action::Prune { removal, .. } => removal.dry_run,
        _ => true,
    };
    let store = app.store_unless(looks).await?;
    match args.action {
        Action::List { chat } => list(app, &*store, &chat).await,
        Action::Show { chat, stream, offset, follow } => {
            let chat = app.chat(&chat);
            existing_chat(store.history(), &chat).await?;
            let host = std::sync::Arc::new(app.host.clone());
            let streams = Streams::new(store, chat.clone(), host.clone(), host);
            show(app, &streams, &chat, &stream, offset, follow).await
        }
        Action::Prune { chat, older_than, abandoned, removal } => {
            let before = |age: Duration| {
                let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
                Timestamp::from_micros(app.now().as_micros().saturating_sub(age))
            };
            let mut prune = StreamPrune::new(app.user.clone(), before(older_than));
            prune.idle_since = abandoned.map(before);
            if let Some(chat) = chat {
                existing_chat(store.history(), &app.chat(&chat)).await?;
                prune = prune.of_chat(chat);
            }
            drop_streams(app, &*store, &prune, &removal).await
        }
    }
}

fn streams(store: &dyn Store) -> Result<&dyn StreamStore, Failure> {
    let missing = || {
        Error::new(ErrorKind::Unsupported, "streams", "this store keeps no streams")
            .with("store", store.info().name)
    };
    Ok(store.streams().ok_or_else(missing)?)
}

async fn all_streams(
    streams: &dyn StreamStore,
    chat: &ChatRef,
) -> Result<Vec<StoredStream>, Failure> {
    let read = |after: Option<_>| async move {
        streams.streams(chat, limits::MAX_PAGE, after.as_ref()).await
    };
    Ok(PageWalk::new("streams", "stream").collect(read).await?)
}

async fn list(app: &mut App, store: &dyn Store, chat: &str) -> Result<Outcome, Failure> {
    let chat = app.chat(chat);
    existing_chat(store.history(), &chat).await?;
    let all = all_streams(streams(store)?, &chat).await?;
    let mut table = Table::new([
        Column::id("STREAM"),
        Column::word("STATE"),
        Column::number("CHUNKS"),
        Column::number("SIZE"),
        Column::text("ERROR"),
        Column::time("LAST WRITTEN"),
    ]);
    for stream in &all {
        if app.out.is_json() {
            app.out.record(&StreamRecord {
                v: 1,
                chat: chat.chat.as_str(),
                stream: stream.id.as_str(),
                state: stream.state.as_str(),
                run: stream.run,
                chunks: stream.chunks,
                bytes: stream.bytes,
                error: stream.error.as_deref(),
                created_at: time(stream.created_at),
                cancel_requested_at: stream.cancel_requested_at.map(time),
                finished_at: stream.finished_at.map(time),
                updated_at: time(stream.updated_at),
            })?;
        } else {
            table.row([
                stream.id.as_str().into(),
                Cell::styled(stream.state.as_str(), style_of(stream.state)),
                grouped(stream.chunks).into(),
                ByteSize(stream.bytes).to_string().into(),
                problem(stream).into(),
                app.out.when(stream.updated_at).into(),
            ]);
        }
    }
    table.write(&mut app.out)?;
    if all.is_empty() {
        app.out.note(clean(&format!("chat {} has no streams", chat.chat)));
    }
    Ok(Outcome::Success)
}

fn style_of(state: StreamState) -> Style {
    match state {
        StreamState::Completed => Style::Green,
        StreamState::Failed => Style::Red,
        _ => Style::Yellow,
    }
}

/// Returns why a stream ended or will end, on one line. Empty if nothing is known.
fn problem(stream: &StoredStream) -> String {
    let asked = stream.cancel_requested_at.is_some() && !stream.state.is_final();
    let asked = asked.then(|| "asked to cancel".to_owned());
    let error = stream.error.as_deref().map(one_line);
    asked.into_iter().chain(error).collect::<Vec<_>>().join("; ")
}

fn described(app: &App, stream: &StoredStream) -> String {
    let id = app.out.paint(Style::Bold, clean(stream.id.as_str()));
    let state = app.out.paint(style_of(stream.state), stream.state.as_str());
    let size = format!(
        "{}, {}",
        count(usize::try_from(stream.chunks).unwrap_or(usize::MAX), "chunk"),
        ByteSize(stream.bytes)
    );
    let written =
        app.out.paint(Style::Dim, format!("last written {}", app.out.when(stream.updated_at)));
    format!("{id}  {state}  {size}  {written}  {}", problem(stream)).trim_end().to_owned()
}

async fn show(
    app: &mut App,
    streams: &Streams,
    chat: &ChatRef,
    stream: &str,
    offset: u64,
    follow: bool,
) -> Result<Outcome, Failure> {
    let absent = || Error::not_found("read_stream", "stream", stream).with("in chat", &chat.chat);
    let known = streams.get(stream).await?.ok_or_else(absent)?;
    let mut reader = streams.follow(stream, offset).of_run(known.run);
    // Without `--follow`, only the current chunks are shown.
    let until = if follow { u64::MAX } else { known.chunks };
    let read = chunks(app, &mut reader, chat, stream, until).await?;
    let failed = match (read, known.state) {
        (Some(error), _) => Some(error.to_string()),
        (None, StreamState::Failed) => Some(format!("stream {stream} failed")),
        _ => None,
    };
    let Some(mut failed) = failed else { return Ok(Outcome::Success) };
    let stream = streams.get(stream).await?;
    if let Some(error) = stream.and_then(|stream| stream.error) {
        failed = format!("{failed}: {error}");
    }
    app.out.note(clean(&failed));
    Ok(Outcome::Findings)
}

/// Writes the chunks before an offset. Returns the reason if the stream ended abnormally.
async fn chunks(
    app: &mut App,
    reader: &mut AnswerReader,
    chat: &ChatRef,
    stream: &str,
    until: u64,
) -> Result<Option<StreamError>, Failure> {
    while reader.offset() < until {
        let chunk = match reader.next().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(StreamError::Store(error)) => return Err(error.into()),
            Err(error) => return Ok(Some(error)),
        };
        if app.out.is_json() {
            let text = std::str::from_utf8(&chunk.bytes).ok();
            let base64 = text.is_none().then(|| BASE64.encode(&chunk.bytes));
            let (chat, offset) = (chat.chat.as_str(), chunk.offset);
            app.out.record(&ChunkRecord { v: 1, chat, stream, offset, text, base64 })?;
        } else {
            app.out.bytes(&chunk.bytes)?;
        }
        // With `--follow`, each chunk is shown immediately.
        if until == u64::MAX {
            app.out.flush()?;
        }
    }
    Ok(None)
}

async fn drop_streams(
    app: &mut App,
    store: &dyn Store,
    prune: &StreamPrune,
    removal: &RemovalArgs,
) -> Result<Outcome, Failure> {
    let mut going = Vec::new();
    if removal.asks() || removal.dry_run {
        going = plan(app, store, prune).await?;
    }
    if removal.asks() && !going.is_empty() {
        confirm(app, &totals(&sum(&going)), ", nor answers that were stored as messages")?;
    }
    let pruned = match removal.dry_run {
        true => sum(&going),
        false => {
            let _removing = Progress::new(&app.out, "removing");
            streams(store)?.prune_streams(prune).await?
        }
    };
    let not_reached = match pruned.streams {
        0 => Vec::new(),
        _ => not_reached(store, &["answers that were stored as messages"]),
    };
    going.retain(|_| removal.dry_run);
    if app.out.is_json() {
        let item = |(chat, stream): &(ChatRef, StoredStream)| StreamItem {
            chat: chat.chat.to_string(),
            stream: stream.id.to_string(),
            bytes: stream.bytes,
        };
        let (items, status) = (going.iter().map(item).collect(), removal.status());
        app.out.record(&StreamPruneRecord { v: 1, pruned, status, items, not_reached })?;
    } else {
        for (chat, stream) in &going {
            let line =
                format!("would go  {}  {}", described(app, stream), clean(chat.chat.as_str()));
            app.out.line(line)?;
        }
        end(app, removal, &totals(&pruned), &not_reached)?;
    }
    Ok(Outcome::Success)
}

fn totals(pruned: &StreamsPruned) -> String {
    let [streams, chunks] =
        [(pruned.streams, "stream"), (pruned.chunks, "chunk")].map(|(n, one)| counted(n, one));
    format!("{streams}, {chunks}, {}", ByteSize(pruned.bytes))
}

/// Returns the streams that a prune would remove now.
async fn plan(
    app: &App,
    store: &dyn Store,
    prune: &StreamPrune,
) -> Result<Vec<(ChatRef, StoredStream)>, Failure> {
    let progress = Progress::new(&app.out, "looking");
    let interrupt = app.interrupt();
    let chats = match &prune.chat {
        Some(chat) => vec![app.chat(chat.as_str())],
        None => {
            all_chats(app, store.history()).await?.into_iter().map(|chat| chat.chat.chat).collect()
        }
    };
    progress.steps("chat", chats.len());
    let mut going = Vec::new();
    for chat in chats {
        interrupt.check("prune")?;
        let all = all_streams(streams(store)?, &chat).await?;
        let old = all.into_iter().filter(|stream| prune.takes(stream));
        going.extend(old.map(|stream| (chat.clone(), stream)));
        progress.advance(1);
    }
    Ok(going)
}

fn sum(going: &[(ChatRef, StoredStream)]) -> StreamsPruned {
    let mut pruned = StreamsPruned::default();
    going.iter().for_each(|(_, stream)| pruned.count(stream));
    pruned
}
