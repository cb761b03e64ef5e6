//! `redact`: permanently removes the content of messages.

use context_runtime::removal::{Redaction, RemovalOptions, RemovalReport, redact_messages};
use context_runtime::{ChatRef, Error, MessageId, Store};
use schemars::JsonSchema;
use serde::Serialize;

use super::removal_report::{
    RemovalArgs, along, confirm, copies, end, item, not_reached, shown_search, totals,
};
use super::{existing_chat, find_message};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::text::short_id;

/// Remove the content of messages for good.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context redact support-7 m4                replace its text by [redacted]; asks first
  context redact support-7 m4 --delete       and do not show it to a model any more
  context redact support-7 m4 --dry-run      what would go, and what says the same elsewhere

A message is named by its whole id, or by the end of it that `context log` shows after `…`. The
place of the message in the graph stays, so that the conversation remains valid: a result still
answers its call. Everything derived from the message is removed too: earlier revisions, summaries
of it, trajectory nodes that represent it, memories with it as their source, blobs that only it
refers to, the stream of its answer, and the chat's title if it was taken from it. Then the rest
of the user's data is searched for the same words. The places that have them are listed, and the
exit status is then 1.

Not reached: backups, exports, logs, local files of trajectories, snapshots of a workspace, and the
memory of running programs. `context vacuum` clears the unused space of the store's files. After an
interrupt, run the command again.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The messages
    #[arg(required = true, value_name = "MESSAGE")]
    messages: Vec<String>,
    /// Remove the message completely, except for its place in the graph
    #[arg(long)]
    delete: bool,
    #[command(flatten)]
    removal: RemovalArgs,
}

/// JSON record of `redact`: one message.
#[derive(Serialize, JsonSchema)]
pub(super) struct RedactRecord<'a> {
    v: u32,
    chat: &'a str,
    message: &'a str,
    /// `would_go`, `redacted` or `deleted`.
    status: &'static str,
}

/// JSON record of `redact` after those of the messages: everything that was removed, and remaining
/// copies.
#[derive(Serialize, JsonSchema)]
pub(super) struct RemovedRecord<'a> {
    v: u32,
    chat: &'a str,
    /// `would_go` or `removed`.
    status: &'static str,
    #[schemars(with = "serde_json::Value")]
    removed: &'a RemovalReport,
    not_reached: &'a [&'static str],
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_unless(args.removal.dry_run).await?;
    let chat = app.chat(&args.chat);
    existing_chat(store.history(), &chat).await?;
    // All ids are resolved first, so that a wrong id does not leave half of the work done.
    let mut messages = Vec::with_capacity(args.messages.len());
    for text in &args.messages {
        messages.push(named_message(&*store, &chat, text).await?);
    }
    let redaction = if args.delete { Redaction::Message } else { Redaction::Words };
    let options = RemovalOptions::at(app.now());
    if args.removal.asks() {
        let (looking, dry) = shown_search(app, &*store, "looking", &options).await?;
        let dry = dry.dry_run(true);
        let plan = redact_messages(&*store, &chat, &messages, redaction, &dry).await?;
        drop(looking);
        confirm(app, &format!("the content of {}", totals([&plan])), &copies([&plan]))?;
    }
    app.out.outlive_reader();
    let phase = if args.removal.dry_run { "looking" } else { "removing" };
    let (working, options) = shown_search(app, &*store, phase, &options).await?;
    let options = options.dry_run(args.removal.dry_run);
    let report = redact_messages(&*store, &chat, &messages, redaction, &options).await?;
    drop(working);
    let others = ["local files of trajectories", "snapshots of a workspace"];
    let not_reached = not_reached(&*store, &others);
    if app.out.is_json() {
        let status = match (args.removal.dry_run, args.delete) {
            (true, _) => "would_go",
            (false, true) => "deleted",
            (false, false) => "redacted",
        };
        for message in &messages {
            let (chat, message) = (args.chat.as_str(), message.as_str());
            app.out.record(&RedactRecord { v: 1, chat, message, status })?;
        }
        let (status, removed) = (args.removal.status(), &report);
        let (chat, not_reached) = (args.chat.as_str(), &not_reached);
        app.out.record(&RemovedRecord { v: 1, chat, status, removed, not_reached })?;
    } else {
        let kind = if args.delete { "message" } else { "content of message" };
        let name = |id: &MessageId| format!("{kind} {} of chat {}", short_id(id), args.chat);
        let status = args.removal.status();
        // A plan also names the messages that summarise a branch with one of these.
        let planned = report.items.iter().filter(|planned| planned.kind == "message");
        for planned in planned {
            item(app, status, &name(&planned.id.as_str().into()), planned.bytes)?;
        }
        for message in messages.iter().filter(|_| !args.removal.dry_run) {
            item(app, status, &name(message), None)?;
        }
        along(app, &report, &["message"])?;
        end(app, &args.removal, &totals([&report]), &not_reached)?;
    }
    Ok(if report.is_complete() || args.removal.dry_run {
        Outcome::Success
    } else {
        Outcome::Findings
    })
}

/// Returns the message with this id, or with this end as it is shown. Unlike for other commands,
/// the beginning of an id is not enough: the content of another message would be lost.
async fn named_message(
    store: &dyn Store,
    chat: &ChatRef,
    text: &str,
) -> Result<MessageId, Failure> {
    let found = find_message(store.history(), chat, text).await?.node.id.clone();
    let bare = |id: &str| id.trim_start_matches('…').to_owned();
    if found.as_str() == text || bare(&short_id(&found)) == bare(text) {
        return Ok(found);
    }
    Err(Error::not_found("find", "message", text).with("in chat", &chat.chat).into())
}
