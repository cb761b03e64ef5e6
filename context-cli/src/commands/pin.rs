//! `pin`: lists, sets and removes pins of messages.

use context_runtime::store::{Node, Window};
use schemars::JsonSchema;
use serde::Serialize;

use super::{branch_end, engine, find_message};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{node_preview, role, short_id};

/// Pin messages, so that no compaction takes them.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context pin support-7                list the pinned messages of the active branch
  context pin support-7 m4 m9
  context pin support-7 m4 --remove

A pinned message stays in every request unchanged, with the calls and results of its step, whatever
a compaction leaves out. What an earlier compaction left out comes back with
`context compact CHAT --undo`.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The messages to pin
    #[arg(value_name = "MESSAGE")]
    messages: Vec<String>,
    /// Remove the pins
    #[arg(long, requires = "messages")]
    remove: bool,
}

/// JSON record of `pin`: one message.
#[derive(Serialize, JsonSchema)]
pub(super) struct PinRecord<'a> {
    v: u32,
    id: &'a str,
    role: &'static str,
    /// The beginning of its text.
    preview: String,
    /// `there`, `pinned`, `unpinned` or `unchanged`.
    status: &'static str,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_unless(args.messages.is_empty()).await?;
    let chat = app.chat(&args.chat);
    let history = store.history();
    if args.messages.is_empty() {
        let end = branch_end(history, &chat, None).await?;
        let chain = history.chain(&chat, &end, &Window::Whole).await?;
        let is_pinned = |node: &Node| node.message().is_ok_and(|message| message.is_pinned());
        for node in chain.iter().filter(|node| is_pinned(node)) {
            write(app, node, "there")?;
        }
        return Ok(Outcome::Success);
    }
    // All ids are resolved first, so that a wrong id does not leave half of the work done.
    let mut nodes = Vec::with_capacity(args.messages.len());
    for text in &args.messages {
        nodes.push(find_message(history, &chat, text).await?.node);
    }
    let mut engine = engine(app, store.clone(), &args.chat).await?;
    for node in nodes {
        let (changed, status) = match args.remove {
            true => (engine.unpin(&node.id).await?, "unpinned"),
            false => (engine.pin(&node.id).await?, "pinned"),
        };
        write(app, &node, if changed { status } else { "unchanged" })?;
    }
    Ok(Outcome::Success)
}

fn write(app: &mut App, node: &Node, status: &'static str) -> Result<(), Failure> {
    if app.out.is_json() {
        let (id, role, preview) = (node.id.as_str(), role(node), node_preview(node));
        return app.out.record(&PinRecord { v: 1, id, role, preview, status });
    }
    let id = app.out.paint(Style::Yellow, short_id(&node.id)).to_string();
    let shown = if status == "there" { String::new() } else { format!("{status}  ") };
    app.out.line(format_args!("{shown}{id}  {:9}  {}", role(node), node_preview(node)))
}
