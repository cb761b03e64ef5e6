//! `graph`: draws the message graph of a chat.

use clap::ValueEnum;
use context_runtime::NodeKind;
use serde::Serialize;

use super::{Marks, all_messages, existing_chat};
use crate::app::{App, Done};
use crate::drawing::{Dot, draw};
use crate::error::Failure;
use crate::text::{clean, node_preview, role, short_id, time};

/// Draw the message graph of a chat.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  context graph support-7

Oldest first. Runs of messages where nothing branches are counted, not drawn. The star marks the
active branch. With --json: one record per message.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// How to draw
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How to draw.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Lines of characters
    Text,
}

/// JSON record of `graph`: one message and its place.
#[derive(Serialize)]
struct GraphRecord<'a> {
    v: u32,
    id: &'a str,
    /// The message it follows.
    parent: Option<&'a str>,
    /// How many messages lie before it.
    depth: u64,
    role: &'static str,
    preview: String,
    created_at: String,
    /// Branches that end here.
    branches: Vec<String>,
    checkpoints: Vec<String>,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Done, Failure> {
    let Format::Text = args.format;
    let store = app.store().await?;
    let history = store.history();
    let chat = app.chat(&args.chat);
    existing_chat(history, &chat).await?;
    let nodes = all_messages(history, &chat).await?;
    let (branches, checkpoints) = (history.branches(&chat).await?, history.checkpoints(&chat).await?);
    let marks = Marks::new(&branches, &checkpoints);
    if app.out.is_json() {
        for placed in &nodes {
            app.out.record(&GraphRecord {
                v: 1,
                id: placed.node.id.as_str(),
                parent: placed.parent.as_ref().map(AsRef::as_ref),
                depth: placed.depth,
                role: role(&placed.node),
                preview: node_preview(&placed.node),
                created_at: time(placed.node.created_at),
                branches: marks.branches_at(&placed.node.id),
                checkpoints: marks.checkpoints_at(&placed.node.id),
            })?;
        }
        return Ok(Done::Fine);
    }
    let dots: Vec<_> = nodes
        .iter()
        .map(|placed| {
            let node = &placed.node;
            let words = marks.words(&node.id);
            let label = format!("{}  {}  {}  {words}", short_id(&node.id), role(node), node_preview(node));
            Dot {
                id: node.id.as_str(),
                parent: placed.parent.as_ref().map(AsRef::as_ref),
                label: label.trim_end().to_owned(),
                marked: !words.is_empty() || node.kind == NodeKind::Boundary,
            }
        })
        .collect();
    for line in draw(&dots) {
        app.out.line(line)?;
    }
    // A branch without messages has no place in the drawing.
    for branch in branches.iter().filter(|branch| branch.head.is_none()) {
        let star = if branch.active { "*" } else { "" };
        app.out.line(format_args!("○ [{}{star}] without messages", clean(branch.name.as_str())))?;
    }
    Ok(Done::Fine)
}
