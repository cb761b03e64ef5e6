//! `retain`: removes old chats, branches, blobs and streams by rules from the command line.

use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use context_runtime::{Removal, RemovalReason, Retention};
use serde::Serialize;

use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::{clean, count, parse_duration, short_time, time};

/// Remove old or surplus chats and branches, and old blobs and streams.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context retain --older-than 90d --dry-run  show what would be removed, and why
  context retain --keep 500 --max-bytes 10GB
  context retain --branches-older-than 30d
  context retain --blobs-older-than 30d --streams-older-than 1d

Times are written such as 36h, 90d or 2w, sizes such as 500MB or 10GiB. The chat that was written to
last always stays, and so do branches in use: the active branch of a chat that stays, a branch with a
checkpoint, and a branch that is written to in the meantime. Only chats of the user (--user) are
removed.")]
#[command(group = clap::ArgGroup::new("rule").required(true).multiple(true))]
pub(crate) struct Args {
    /// Remove chats that were not written to for longer than this
    #[arg(long, value_name = "TIME", group = "rule")]
    older_than: Option<ArgValue<Duration>>,
    /// Keep at most this many chats, those written to last
    #[arg(long, value_name = "N", group = "rule")]
    keep: Option<usize>,
    /// Keep chats up to this total size, those written to last
    #[arg(long, value_name = "SIZE", group = "rule")]
    max_bytes: Option<ArgValue<ByteSize>>,
    /// In the other chats, remove branches whose newest message is older
    #[arg(long, value_name = "TIME", group = "rule")]
    branches_older_than: Option<ArgValue<Duration>>,
    /// In the other chats, remove blobs that were not used for longer; messages keep their ids
    #[arg(long, value_name = "TIME", group = "rule")]
    blobs_older_than: Option<ArgValue<Duration>>,
    /// In the other chats, remove streams that ended longer ago, and abandoned ones
    #[arg(long, value_name = "TIME", group = "rule")]
    streams_older_than: Option<ArgValue<Duration>>,
    /// Only show what would be removed
    #[arg(long)]
    dry_run: bool,
}

/// A value with its text on the command line.
#[derive(Clone, Debug)]
struct ArgValue<T> {
    value: T,
    text: String,
}

impl FromStr for ArgValue<Duration> {
    type Err = crate::text::InvalidDuration;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self { value: parse_duration(text)?, text: text.to_owned() })
    }
}

/// The error for an invalid size.
#[derive(Debug, thiserror::Error)]
#[error("not a size; write it such as 500MB or 10GiB")]
struct InvalidSize;

impl FromStr for ArgValue<ByteSize> {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self { value: text.parse().map_err(|_| InvalidSize)?, text: text.to_owned() })
    }
}

/// JSON record of `retain`: a chat, or a part of it.
#[derive(Serialize)]
struct RetainRecord<'a> {
    v: u32,
    chat: &'a str,
    /// The branch, if only a branch is removed.
    branch: Option<&'a str>,
    /// The number of blobs, if only blobs are removed.
    #[serde(skip_serializing_if = "is_none")]
    blobs: u64,
    /// The number of streams, if only streams are removed.
    #[serde(skip_serializing_if = "is_none")]
    streams: u64,
    /// The time of the last write.
    last_used: String,
    /// `idle`, `count` or `bytes`.
    reason: RemovalReason,
    /// `would_go`, `removed`, or `kept` because it was written to meanwhile.
    status: &'static str,
}

fn number(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

fn is_none(n: &u64) -> bool {
    *n == 0
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_unless(args.dry_run).await?;
    let mut policy = Retention::default();
    policy.idle_chats = args.older_than.as_ref().map(|given| given.value);
    policy.max_chats = args.keep;
    policy.max_bytes = args.max_bytes.as_ref().map(|given| given.value.as_u64());
    policy.idle_branches = args.branches_older_than.as_ref().map(|given| given.value);
    policy.idle_blobs = args.blobs_older_than.as_ref().map(|given| given.value);
    policy.idle_streams = args.streams_older_than.as_ref().map(|given| given.value);
    let interrupt = app.interrupt();
    let looking = Progress::spinner(&app.out, "looking");
    let removals = policy.plan(&*store, &app.user, app.now(), &interrupt).await?;
    looking.done();
    if !args.dry_run {
        app.out.outlive_reader();
    }
    let (mut chats, mut branches, mut blobs, mut streams) = (0, 0, 0, 0);
    let working = Progress::bar(&app.out, removals.len(), "removing");
    for removal in &removals {
        let status = if args.dry_run {
            "would_go"
        } else {
            interrupt.check("retain")?;
            let gone = removal.run(&*store, app.now()).await?;
            working.advance(1);
            if gone { "removed" } else { "kept" }
        };
        if status != "kept" {
            blobs += number(removal.blobs);
            streams += number(removal.streams);
            branches += usize::from(removal.branch.is_some());
            chats += usize::from(removal.branch.is_none() && removal.blobs + removal.streams == 0);
        }
        working.pausing(|| write(app, &args, removal, status))?;
    }
    working.done();
    if !app.out.is_json() {
        let mut what = format!("{}, {}", count(chats, "chat"), count(branches, "branch"));
        for (n, name) in [(blobs, "blob"), (streams, "stream")].into_iter().filter(|(n, _)| *n > 0)
        {
            what = format!("{what}, {}", count(n, name));
        }
        let head = if args.dry_run { "would go" } else { "removed" };
        let head = app.out.paint(Style::Bold, head).to_string();
        let tail = if args.dry_run { "; nothing was changed" } else { "" };
        app.out.line(format_args!("{head}: {what}{tail}"))?;
    }
    Ok(Outcome::Success)
}

fn write(
    app: &mut App,
    args: &Args,
    removal: &Removal,
    status: &'static str,
) -> Result<(), Failure> {
    let chat = removal.chat.chat.as_str();
    let branch = removal.branch.as_ref().map(AsRef::as_ref);
    if app.out.is_json() {
        return app.out.record(&RetainRecord {
            v: 1,
            chat,
            branch,
            blobs: removal.blobs,
            streams: removal.streams,
            last_used: time(removal.last_used),
            reason: removal.reason,
            status,
        });
    }
    let what = match branch {
        None if removal.blobs > 0 => {
            format!("{} of {}", count(number(removal.blobs), "blob"), clean(chat))
        }
        None if removal.streams > 0 => {
            format!("{} of {}", count(number(removal.streams), "stream"), clean(chat))
        }
        None => format!("chat {}", clean(chat)),
        Some(branch) => format!("branch {} of {}", clean(branch), clean(chat)),
    };
    let head = status.replace('_', " ");
    let last = app.out.paint(Style::Dim, short_time(removal.last_used)).to_string();
    let why = match status {
        "kept" => "it was written to meanwhile".to_owned(),
        _ => reason(args, removal),
    };
    app.out.line(format_args!("{head:9} {what}, last used {last}: {why}"))
}

/// Describes why something is removed, in terms of the command line.
fn reason(args: &Args, removal: &Removal) -> String {
    let idle = match removal {
        Removal { branch: Some(_), .. } => &args.branches_older_than,
        Removal { blobs: 1.., .. } => &args.blobs_older_than,
        Removal { streams: 1.., .. } => &args.streams_older_than,
        _ => &args.older_than,
    };
    let limit = |given: Option<&String>| given.map_or("the limit", String::as_str).to_owned();
    match removal.reason {
        RemovalReason::Idle => {
            format!("older than {}", limit(idle.as_ref().map(|given| &given.text)))
        }
        RemovalReason::Count => format!("beyond the newest {}", args.keep.unwrap_or_default()),
        RemovalReason::Bytes => {
            format!("beyond {}", limit(args.max_bytes.as_ref().map(|given| &given.text)))
        }
        _ => "by the rules".to_owned(),
    }
}
