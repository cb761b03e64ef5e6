//! `redact`: permanently removes the content of messages.

use context_runtime::removal::{Redaction, RemovalOptions, RemovalReport, redact_messages};
use serde::Serialize;

use super::find_message;
use super::removal_report::show;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::text::{clean, short_id};

/// Remove the content of messages for good.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context redact support-7 m4                replace its text by [redacted]
  context redact support-7 m4 --delete       and do not show it to a model any more

The place of the message in the graph stays, so that the conversation remains valid: a result still
answers its call. Everything derived from the message is removed too: earlier revisions, summaries of
it, trajectory nodes that represent it, memories with it as their source, blobs that only it refers
to, the stream of its answer, and the chat's title if it was taken from it. Then the rest of the
user's data is searched for the same words. The places that have them are listed, and the exit
status is then 1.

Not reached: backups, exports, local files of trajectories, and the memory of running programs.
`context vacuum` clears the unused space of the store's files. After an interrupt, run the command
again.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The messages
    #[arg(required = true, value_name = "MESSAGE")]
    messages: Vec<String>,
    /// Remove the message completely, except for its place in the graph
    #[arg(long)]
    delete: bool,
}

/// JSON record of `redact`: one message.
#[derive(Serialize)]
struct RedactRecord<'a> {
    v: u32,
    chat: &'a str,
    message: &'a str,
    /// `redacted` or `deleted`.
    status: &'static str,
}

/// JSON record of `redact` after those of the messages: everything that was removed, and remaining
/// copies.
#[derive(Serialize)]
struct RemovedRecord<'a> {
    v: u32,
    chat: &'a str,
    removed: &'a RemovalReport,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_write().await?;
    let chat = app.chat(&args.chat);
    // All ids are resolved first, so that a wrong id does not leave half of the work done.
    let mut messages = Vec::with_capacity(args.messages.len());
    for text in &args.messages {
        messages.push(find_message(store.history(), &chat, text).await?.node.id.clone());
    }
    app.out.outlive_reader();
    let redaction = if args.delete { Redaction::Message } else { Redaction::Words };
    let options = RemovalOptions::at(app.now()).cancel(app.interrupt());
    let report = redact_messages(&*store, &chat, &messages, redaction, &options).await?;
    let status = if args.delete { "deleted" } else { "redacted" };
    for message in &messages {
        if app.out.is_json() {
            let (chat, message) = (args.chat.as_str(), message.as_str());
            app.out.record(&RedactRecord { v: 1, chat, message, status })?;
        } else {
            app.out.line(format_args!("{}: {status} {}", clean(&args.chat), short_id(message)))?;
        }
    }
    if app.out.is_json() {
        app.out.record(&RemovedRecord { v: 1, chat: &args.chat, removed: &report })?;
    }
    show(app, &args.chat, &report, "message")?;
    Ok(if report.is_complete() { Outcome::Success } else { Outcome::Findings })
}
