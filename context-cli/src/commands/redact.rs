//! `redact`: takes the content of messages away, for good.

use context_runtime::store::{ChatPatch, Node};
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
answers its call. Its earlier revisions go too, and so does the chat's title if it was taken from the
message; nothing of it comes back. What the store's files still hold of it in unused space is cleared
by `context vacuum`.")]
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
    let store = app.store_to_write().await?;
    // All are looked up first: a wrong id must not leave half of it done.
    let mut nodes = Vec::with_capacity(args.messages.len());
    for text in &args.messages {
        nodes.push(find_message(store.history(), &app.chat(&args.chat), text).await?.node);
    }
    app.out.outlive_reader();
    let mut engine = engine(app, store, &args.chat).await?;
    for node in &nodes {
        let message = &node.id;
        if engine.chat().await?.title.is_some_and(|title| is_from(&title, node)) {
            let patch = ChatPatch { title: Some(None), ..ChatPatch::default() };
            engine.update_chat(&patch).await?;
            app.out.note(format_args!(
                "{}: its title was taken from this message and goes too",
                clean(&args.chat)
            ));
        }
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

/// Whether a chat's title is words of this message, as an import makes it.
fn is_from(title: &str, node: &Node) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = words(title.trim_end_matches('…'));
    let text = node.message().map(|message| words(&message.plain_text()));
    !title.is_empty() && text.is_ok_and(|text| text.contains(&title))
}
