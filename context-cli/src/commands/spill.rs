//! `spill`: lists, reads and drops the blobs of a chat, which hold bytes spilled out of messages.

use std::collections::HashMap;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytesize::ByteSize;
use context_runtime::{
    ChatRef, Error, ErrorKind, Store, Timestamp, limits,
    store::{Blob, BlobId, BlobPrune, BlobStore, BlobsPruned, PageWalk},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::output_args::OutputArgs;
use super::removal_report::{RemovalArgs, confirm, counted, end, not_reached};
use super::{all_chats, existing_chat};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::table::{Column, Table};
use crate::text::{clean, count, grouped, parse_duration, time};

/// The number of digits of a blob id that are shown to people.
const DIGITS: usize = 12;

/// List, read and remove blobs with spilled tool results.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context spill list support-7               the blobs, with their times
  context spill read support-7 3f2a91c0      its bytes, as they are
  context spill read support-7 3f2a91c0 --range 0..4096
  context spill read support-7 3f2a91c0 --output report.json
  context spill prune --older-than 30d --dry-run

A tool result that is too long for a message is stored as a blob, under the hash of its bytes and once
for all chats of a user. The first digits of the hash identify a blob if no other hash starts with
them; the message contains the whole hash after `blob:`.")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// List the blobs of a chat
    #[command(after_help = "\
Example:
  context spill list support-7")]
    List {
        /// The chat
        chat: String,
    },
    /// Write the bytes of a blob
    #[command(after_help = "\
Example:
  context spill read support-7 3f2a91c0 | less

Reading a blob with this command does not count as use for `spill prune`. With --json the bytes are in
the record, as `text`, or as `base64` if they are not text.")]
    Read {
        /// The chat
        chat: String,
        /// The hash, or its first digits
        blob: String,
        /// Only these bytes; counted from 0, the end is exclusive
        #[arg(long, value_name = "START..END")]
        range: Option<ByteRange>,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Remove blobs that were not used for long
    #[command(after_help = "\
Examples:
  context spill prune --dry-run              show what would be removed
  context spill prune --chat support-7 --older-than 1w   asks first
  context spill prune --older-than 30d --yes

A blob is used when its chat stores it or a program reads it. A message that refers to a removed blob
is not changed; a model that asks for the blob is told that it is gone. The bytes are removed with the
last chat that refers to them.")]
    Prune {
        /// Only of this chat [default: of all chats of the user]
        #[arg(long, value_name = "CHAT")]
        chat: Option<String>,
        /// Remove blobs that were not used for longer than this
        #[arg(long, value_name = "TIME", default_value = "30d", value_parser = parse_duration)]
        older_than: Duration,
        #[command(flatten)]
        removal: RemovalArgs,
    },
}

/// A half-open range of bytes.
#[derive(Clone, Debug)]
struct ByteRange(Range<u64>);

/// The error for an invalid range.
#[derive(Debug, thiserror::Error)]
#[error("not a range of bytes; write it such as 0..4096, 4096.. or ..512")]
struct InvalidRange;

impl FromStr for ByteRange {
    type Err = InvalidRange;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (start, end) = text.split_once("..").ok_or(InvalidRange)?;
        let bound = |text: &str, open: u64| match text {
            "" => Ok(open),
            digits => digits.parse().map_err(|_| InvalidRange),
        };
        let range = bound(start, 0)?..bound(end, u64::MAX)?;
        if range.start <= range.end { Ok(Self(range)) } else { Err(InvalidRange) }
    }
}

/// JSON record of `spill list`: one blob.
#[derive(Serialize, JsonSchema)]
pub(super) struct SpillRecord<'a> {
    v: u32,
    chat: &'a str,
    /// The hash of the bytes.
    blob: String,
    bytes: u64,
    media_type: Option<&'a str>,
    /// The number of the user's chats that refer to the blob.
    references: u64,
    created_at: String,
    used_at: String,
}

/// JSON record of `spill read`.
#[derive(Serialize, JsonSchema)]
pub(super) struct SpillReadRecord<'a> {
    v: u32,
    chat: &'a str,
    blob: String,
    /// The size of the blob in bytes.
    bytes: u64,
    media_type: Option<&'a str>,
    /// The start of the range that was read; `end` is its end.
    start: u64,
    end: u64,
    /// The new file that holds the bytes. Otherwise they are in `text` or `base64`.
    file: Option<String>,
    text: Option<&'a str>,
    base64: Option<String>,
}

/// JSON record of `spill prune`: the removed blobs.
#[derive(Serialize, JsonSchema)]
pub(super) struct SpillPruneRecord {
    v: u32,
    #[serde(flatten)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pruned: BlobsPruned,
    /// `would_go` or `removed`.
    status: &'static str,
    /// In a dry run, the blobs of each chat that would go.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    items: Vec<SpillItem>,
    not_reached: Vec<&'static str>,
}

/// A blob of a chat that would go.
#[derive(Serialize, JsonSchema)]
struct SpillItem {
    chat: String,
    blob: String,
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
        Action::Read { chat, blob, range, output } => {
            let range = range.map_or(0..u64::MAX, |range| range.0);
            read(app, &*store, &chat, &blob, range, output).await
        }
        Action::Prune { chat, older_than, removal } => {
            prune(app, &*store, chat.as_deref(), older_than, &removal).await
        }
    }
}

fn blobs(store: &dyn Store) -> Result<&dyn BlobStore, Failure> {
    let missing = || {
        Error::new(ErrorKind::Unsupported, "spill", "this store keeps no blobs")
            .with("store", store.info().name)
    };
    Ok(store.blobs().ok_or_else(missing)?)
}

async fn all_blobs(blobs: &dyn BlobStore, chat: &ChatRef) -> Result<Vec<Blob>, Failure> {
    let read =
        |after: Option<_>| async move { blobs.blobs(chat, limits::MAX_PAGE, after.as_ref()).await };
    Ok(PageWalk::new("blobs", "blob").collect(read).await?)
}

/// Returns the blob with this hash, or the only blob whose hash starts with this text.
async fn find(blobs: &dyn BlobStore, chat: &ChatRef, text: &str) -> Result<Blob, Failure> {
    let digits = text.strip_prefix(BlobId::SCHEME).unwrap_or(text).trim_end_matches('…');
    let absent = || Error::not_found("find", "blob", text).with("in chat", &chat.chat);
    if let Ok(id) = digits.parse() {
        return Ok(blobs.blob(chat, &id).await?.ok_or_else(absent)?);
    }
    let digits = digits.to_ascii_lowercase();
    let mut found = all_blobs(blobs, chat).await?;
    found.retain(|blob| !digits.is_empty() && blob.id.to_string().starts_with(&digits));
    if found.len() > 1 {
        let matches = found.iter().take(5).map(|blob| blob.id.to_string()).collect();
        return Err(Failure::Ambiguous { subject: "blob", text: text.to_owned(), matches });
    }
    Ok(found.pop().ok_or_else(absent)?)
}

/// Returns the first digits of a blob id.
fn short(id: &BlobId) -> String {
    let mut digits = id.to_string();
    digits.truncate(DIGITS);
    digits
}

async fn list(app: &mut App, store: &dyn Store, chat: &str) -> Result<Outcome, Failure> {
    let chat = app.chat(chat);
    existing_chat(store.history(), &chat).await?;
    let all = all_blobs(blobs(store)?, &chat).await?;
    let mut table = Table::new([
        Column::word("BLOB").style(Style::Bold),
        Column::number("SIZE"),
        Column::text("TYPE"),
        Column::number("CHATS"),
        Column::time("LAST USED"),
    ]);
    for blob in &all {
        if app.out.is_json() {
            app.out.record(&SpillRecord {
                v: 1,
                chat: chat.chat.as_str(),
                blob: blob.id.to_string(),
                bytes: blob.bytes,
                media_type: blob.media_type.as_deref(),
                references: blob.references,
                created_at: time(blob.created_at),
                used_at: time(blob.used_at),
            })?;
        } else {
            table.row([
                short(&blob.id).into(),
                ByteSize(blob.bytes).to_string().into(),
                blob.media_type.as_deref().unwrap_or("bytes").into(),
                grouped(blob.references).into(),
                app.out.when(blob.used_at).into(),
            ]);
        }
    }
    table.write(&mut app.out)?;
    if all.is_empty() {
        app.out.note(clean(&format!("chat {} has no blobs", chat.chat)));
    }
    Ok(Outcome::Success)
}

fn described(app: &App, blob: &Blob) -> String {
    let id = app.out.paint(Style::Bold, short(&blob.id));
    let used = app.out.paint(Style::Dim, format!("last used {}", app.out.when(blob.used_at)));
    let size = ByteSize(blob.bytes).to_string();
    let media_type = blob.media_type.as_deref().unwrap_or("bytes");
    let chats = match blob.references {
        1 => String::new(),
        n => format!("  {}", count(usize::try_from(n).unwrap_or(usize::MAX), "chat")),
    };
    // A line break in the media type would start a new line.
    let media_type = crate::text::one_line(media_type);
    format!("{id}  {size:>9}  {media_type}  {used}{chats}")
}

async fn read(
    app: &mut App,
    store: &dyn Store,
    chat: &str,
    text: &str,
    range: Range<u64>,
    output: OutputArgs,
) -> Result<Outcome, Failure> {
    let chat = app.chat(chat);
    existing_chat(store.history(), &chat).await?;
    let blobs = blobs(store)?;
    output.check()?;
    let file = output.file().map(|path| path.display().to_string());
    let blob = find(blobs, &chat, text).await?;
    let bytes = blobs.read_blob(&chat, &blob.id, range.clone(), None).await?;
    let bytes = bytes
        .ok_or_else(|| Error::not_found("read_blob", "blob", text).with("in chat", &chat.chat))?;
    output.write(&bytes)?;
    if app.out.is_json() {
        let start = range.start.min(blob.bytes);
        let read = std::str::from_utf8(&bytes).ok().filter(|_| file.is_none());
        let base64 = (read.is_none() && file.is_none()).then(|| BASE64.encode(&bytes));
        app.out.record(&SpillReadRecord {
            v: 1,
            chat: chat.chat.as_str(),
            blob: blob.id.to_string(),
            bytes: blob.bytes,
            media_type: blob.media_type.as_deref(),
            start,
            end: start + bytes.len() as u64,
            file,
            text: read,
            base64,
        })?;
    } else if let Some(file) = file {
        let done = app.out.paint(Style::Green, "wrote").to_string();
        app.out.line(format_args!("{done} {}, {}", clean(&file), ByteSize(bytes.len() as u64)))?;
    } else {
        app.out.bytes(&bytes)?;
    }
    Ok(Outcome::Success)
}

async fn prune(
    app: &mut App,
    store: &dyn Store,
    chat: Option<&str>,
    older_than: Duration,
    removal: &RemovalArgs,
) -> Result<Outcome, Failure> {
    let blobs = blobs(store)?;
    let age = i64::try_from(older_than.as_micros()).unwrap_or(i64::MAX);
    let mut prune = BlobPrune::new(
        app.user.clone(),
        Timestamp::from_micros(app.now().as_micros().saturating_sub(age)),
    );
    prune.chat = chat.map(Into::into);
    if let Some(chat) = chat {
        existing_chat(store.history(), &app.chat(chat)).await?;
    }
    let mut going = Vec::new();
    if removal.asks() || removal.dry_run {
        going = plan(app, store, &prune).await?;
    }
    if removal.asks() && !going.is_empty() {
        confirm(app, &totals(&sum(&going)), ", nor what messages quote")?;
    }
    let pruned = match removal.dry_run {
        true => sum(&going),
        false => {
            let _removing = Progress::new(&app.out, "removing");
            blobs.prune_blobs(&prune).await?
        }
    };
    let not_reached = match pruned.references {
        0 => Vec::new(),
        _ => not_reached(store, &["what messages and memories quote"]),
    };
    going.retain(|_| removal.dry_run);
    if app.out.is_json() {
        let item = |(chat, blob): &(ChatRef, Blob)| {
            let (chat, blob, bytes) = (chat.chat.to_string(), blob.id.to_string(), blob.bytes);
            SpillItem { chat, blob, bytes }
        };
        let (items, status) = (going.iter().map(item).collect(), removal.status());
        app.out.record(&SpillPruneRecord { v: 1, pruned, status, items, not_reached })?;
    } else {
        for (chat, blob) in &going {
            let line = format!("would go  {}  {}", described(app, blob), clean(chat.chat.as_str()));
            app.out.line(line)?;
        }
        end(app, removal, &totals(&pruned), &not_reached)?;
    }
    Ok(Outcome::Success)
}

fn totals(pruned: &BlobsPruned) -> String {
    let [references, blobs] =
        [(pruned.references, "reference"), (pruned.blobs, "blob")].map(|(n, one)| counted(n, one));
    format!("{references}, {blobs}, {}", ByteSize(pruned.bytes))
}

/// Returns the blobs that a prune would remove from chats now.
async fn plan(
    app: &App,
    store: &dyn Store,
    prune: &BlobPrune,
) -> Result<Vec<(ChatRef, Blob)>, Failure> {
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
        let all = all_blobs(blobs(store)?, &chat).await?;
        let old = all.into_iter().filter(|blob| blob.used_at <= prune.unused_since);
        going.extend(old.map(|blob| (chat.clone(), blob)));
        progress.advance(1);
    }
    Ok(going)
}

/// Counts the references, and the blobs of which no reference stays.
fn sum(going: &[(ChatRef, Blob)]) -> BlobsPruned {
    let mut pruned = BlobsPruned::default();
    let mut gone: HashMap<BlobId, u64> = HashMap::new();
    for (_, blob) in going {
        pruned.references += 1;
        let gone = gone.entry(blob.id).or_default();
        *gone += 1;
        if *gone == blob.references {
            pruned.blobs += 1;
            pruned.bytes += blob.bytes;
        }
    }
    pruned
}

#[cfg(test)]
mod tests {
    use super::ByteRange;

    #[test]
    fn ranges_are_written_as_in_rust() {
        let range = |text: &str| text.parse::<ByteRange>().ok().map(|range| range.0);
        assert_eq!((range("0..4096"), range("7..")), (Some(0..4096), Some(7..u64::MAX)));
        assert_eq!((range("..512"), range("..")), (Some(0..512), Some(0..u64::MAX)));
        for bad in ["", "5", "9..3", "-1..2", "a..b", "1..2..3", "0..99999999999999999999"] {
            assert_eq!(range(bad), None, "{bad}");
        }
    }
}
