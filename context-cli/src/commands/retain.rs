//! `retain`: removes old chats, branches, blobs and streams by rules from the command line.

use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use context_runtime::removal::{RemovalOptions, RemovalReport};
use context_runtime::{Removal, RemovalReason, Retention};
use schemars::JsonSchema;
use serde::Serialize;

use super::removal_report::{
    RemovalArgs, along, confirm, counted, end, not_reached, shown, shown_search, totals,
};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, parse_duration, time};

/// Remove old or surplus chats and branches, and old blobs and streams.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context retain --older-than 90d --dry-run  what would go, why, and what says the same
  context retain --keep 500 --max-bytes 10GB   asks first
  context retain --branches-older-than 30d
  context retain --blobs-older-than 30d --streams-older-than 1d --yes

Times are written such as 36h, 90d or 2w, sizes such as 500MB or 10GiB. The chat that was written to
last always stays, and so do branches in use: the active branch of a chat that stays, a branch with a
checkpoint, and a branch that is written to in the meantime. Only chats of the user (--user) are
removed, with the rounds and memories that came from them.

With --dry-run, all that stays is searched for the same words, and every place that has them is
listed. The removal itself does not search: that would read everything for each old chat.

Not reached: copies in what stays, backups, exports, logs, and snapshots of a workspace.")]
#[command(override_usage = "context retain [OPTIONS] <RULE>...")]
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
    #[command(flatten)]
    removal: RemovalArgs,
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
#[derive(Serialize, JsonSchema)]
pub(super) struct RetainRecord<'a> {
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
    #[schemars(with = "String")]
    reason: RemovalReason,
    /// `would_go`, `removed`, or `kept` because it was written to meanwhile.
    status: &'static str,
    /// Everything that goes with it. In a dry run also what has the same words and stays.
    #[schemars(with = "serde_json::Value")]
    removed: &'a RemovalReport,
    not_reached: &'a [&'static str],
}

fn is_none(n: &u64) -> bool {
    *n == 0
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_unless(args.removal.dry_run).await?;
    let mut policy = Retention::default();
    policy.idle_chats = args.older_than.as_ref().map(|given| given.value);
    policy.max_chats = args.keep;
    policy.max_bytes = args.max_bytes.as_ref().map(|given| given.value.as_u64());
    policy.idle_branches = args.branches_older_than.as_ref().map(|given| given.value);
    policy.idle_blobs = args.blobs_older_than.as_ref().map(|given| given.value);
    policy.idle_streams = args.streams_older_than.as_ref().map(|given| given.value);
    let interrupt = app.interrupt();
    let options = RemovalOptions::at(app.now()).find_copies(args.removal.dry_run);
    let (looking, looks) = shown_search(app, &*store, "looking", &options).await?;
    let removals = policy.plan(&*store, &app.user, app.now(), &interrupt).await?;
    let mut plans = Vec::new();
    if args.removal.asks() || args.removal.dry_run {
        looking.steps("removal", removals.len());
        plans = Removal::plan_all(&removals, &*store, &looks).await?;
    }
    drop(looking);
    if args.removal.asks() && !plans.is_empty() {
        confirm(app, &totals(&plans), "")?;
    }
    let searched = args.removal.dry_run;
    let others = if searched { &["snapshots of a workspace"][..] } else { &UNSEARCHED };
    let others = if removals.is_empty() { Vec::new() } else { not_reached(&*store, others) };
    let mut reports = Vec::with_capacity(removals.len());
    if args.removal.dry_run {
        for (removal, report) in removals.iter().zip(plans) {
            write(app, &args, removal, &report, &others)?;
            reports.push(report);
        }
    } else {
        app.out.outlive_reader();
        let (working, options) = shown(app, "removing", &options);
        working.steps("removal", removals.len());
        for removal in &removals {
            interrupt.check("retain")?;
            let report = removal.run_with(&*store, &options).await?;
            working.advance(1);
            write(app, &args, removal, &report, &others)?;
            reports.push(report);
        }
    }
    if !app.out.is_json() {
        end(app, &args.removal, &totals(&reports), &others)?;
    }
    Ok(Outcome::Success)
}

/// The data that a removal without a search does not reach, besides that of the host.
const UNSEARCHED: [&str; 2] =
    ["copies in what stays, which --dry-run lists", "snapshots of a workspace"];

fn write(
    app: &mut App,
    args: &Args,
    removal: &Removal,
    report: &RemovalReport,
    not_reached: &[&'static str],
) -> Result<(), Failure> {
    let status = match report.removed().next() {
        Some(_) => args.removal.status(),
        None => "kept",
    };
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
            removed: report,
            not_reached,
        });
    }
    let what = match branch {
        None if removal.blobs > 0 => {
            format!("{} of chat {}", counted(removal.blobs, "blob"), clean(chat))
        }
        None if removal.streams > 0 => {
            format!("{} of chat {}", counted(removal.streams, "stream"), clean(chat))
        }
        None => format!("chat {}", clean(chat)),
        Some(branch) => format!("branch {} of chat {}", clean(branch), clean(chat)),
    };
    let head = status.replace('_', " ");
    let last = app.out.paint(Style::Dim, app.out.when(removal.last_used)).to_string();
    let why = match status {
        "kept" => "it was written to meanwhile".to_owned(),
        _ => reason(args, removal),
    };
    app.out.line(format_args!("{head:9} {what}, last used {last}: {why}"))?;
    let named: &[&str] = match removal {
        Removal { branch: None, blobs: 0, streams: 0, .. } => &["chat"],
        Removal { branch: Some(_), .. } => &["branch"],
        // A plan names each.
        _ if args.removal.dry_run => &[],
        _ => &["blob", "stream"],
    };
    along(app, report, named)
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
