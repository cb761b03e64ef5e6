//! `redact`: takes the content of messages away, for good.

use serde::Serialize;

use super::{engine, find_message};
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
answers its call. Its earlier revisions go too, and nothing of it comes back. What the store's files
still hold of it in unused space is cleared by `context vacuum`.")]
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

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Done, Failure> {
    let store = app.store().await?;
    // All are looked up first: a wrong id must not leave half of it done.
    let mut messages = Vec::with_capacity(args.messages.len());
    for text in &args.messages {
        messages.push(find_message(store.history(), &app.chat(&args.chat), text).await?.node.id.clone());
    }
    let mut engine = engine(app, store, &args.chat).await?;
    for message in &messages {
        let status = if args.delete {
            engine.delete_message(message).await?;
            "deleted"
        } else {
            engine.redact(message).await?;
            "redacted"
        };
        if app.out.is_json() {
            let (chat, message) = (args.chat.as_str(), message.as_str());
            app.out.record(&RedactRecord { v: 1, chat, message, status })?;
        } else {
            app.out.line(format_args!("{}: {status} {}", clean(&args.chat), short_id(message)))?;
        }
    }
    Ok(Done::Fine)
}
