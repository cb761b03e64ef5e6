//! `redact`: permanently removes the content of messages.

use context_runtime::removal::{Redaction, RemovalOptions, RemovalReport, redact_messages};
use serde::Serialize;

use super::find_message;
use super::removed::show;
use crate::app::{App, Done};
use crate::error::Failure;
use crate::text::{clean, short_id};

/// Take the content of messages away, for good.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context redact support-7 m4                its words become [redacted]
  context redact support-7 m4 --delete       and a model is not shown it any more

The place of the message in the graph stays, so that the conversation remains valid: a result still
answers its call. All that was made of it goes too: earlier revisions, what compactions tell of it,
nodes of rounds that stand for it, memories that have it as their source, blobs only it refers to,
the stream it was answered through, the chat's title if it was taken from it. Then everything else
of the user is searched for the same words, and what has them is named: exit status 1.

Not reached: backups, exports, local files of trajectories, and what a running program holds. What
the store's files still hold in unused space is cleared by `context vacuum`. If it is interrupted,
run it again.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The messages
    #[arg(required = true, value_name = "MESSAGE")]
    messages: Vec<String>,
    /// Leave nothing but the place
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

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Done, Failure> {
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
    Ok(if report.is_complete() { Done::Fine } else { Done::Found })
}
