//! `graph`: draws the message graph of a chat.

use clap::ValueEnum;
use context_runtime::store::{Branch, NodeKind, PlacedNode};
use serde::Serialize;

use super::{Marks, all_messages, existing_chat};
use crate::app::{App, Outcome};
use crate::drawing::{Dot, draw, graphviz, mermaid};
use crate::error::Failure;
use crate::text::{clean, node_preview, role, short_id, time};

/// Draw the message graph of a chat.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context graph support-7
  context graph support-7 --format mermaid   for a Markdown file
  context graph support-7 --format dot | dot -Tsvg >support-7.svg
  context graph support-7 --format json      one record per message

Oldest first. Runs of messages where nothing branches are counted, not drawn. The star marks the
active branch. --json alone is --format json; with mermaid or dot it gives one record with the text.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The format [default: text]
    #[arg(long, value_enum)]
    format: Option<Format>,
}

/// The format of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines of characters
    Text,
    /// A Mermaid flow chart
    Mermaid,
    /// A graph for Graphviz
    Dot,
    /// Records, as --json writes them
    Json,
}

/// JSON record of `graph`: one message and its position.
#[derive(Serialize)]
struct GraphRecord<'a> {
    v: u32,
    id: &'a str,
    /// The preceding message.
    parent: Option<&'a str>,
    /// The number of messages before it.
    depth: u64,
    role: &'static str,
    preview: String,
    created_at: String,
    /// The branches whose head is this message.
    branches: Vec<String>,
    checkpoints: Vec<String>,
}

/// JSON record of `graph --format mermaid` and `dot`: the text.
#[derive(Serialize)]
struct GraphTextRecord<'a> {
    v: u32,
    chat: &'a str,
    /// `mermaid` or `dot`.
    format: &'static str,
    text: &'a str,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let history = store.history();
    let chat = app.chat(&args.chat);
    existing_chat(history, &chat).await?;
    let nodes = all_messages(history, &chat).await?;
    let (branches, checkpoints) =
        (history.branches(&chat).await?, history.checkpoints(&chat).await?);
    let marks = Marks::new(&branches, &checkpoints);
    let format = match args.format {
        None | Some(Format::Text) if app.out.is_json() => Format::Json,
        format => format.unwrap_or(Format::Text),
    };
    if format == Format::Json {
        records(app, &nodes, &marks)?;
        return Ok(Outcome::Success);
    }
    let mut dots: Vec<_> = nodes.iter().map(|placed| dot(placed, &marks)).collect();
    // A branch without messages has no place in the graph.
    let empty = |branch: &&Branch| branch.head.is_none();
    let empty: Vec<_> = branches.iter().filter(empty).map(name).collect();
    match format {
        Format::Text | Format::Json => {
            for line in draw(&dots) {
                app.out.line(line)?;
            }
            for name in empty {
                app.out.line(format_args!("○ {name} without messages"))?;
            }
        }
        Format::Mermaid | Format::Dot => {
            dots.extend(empty.iter().map(|name| Dot {
                id: "",
                parent: None,
                head: format!("{name} without messages"),
                text: String::new(),
                marks: String::new(),
                shown: true,
            }));
            let (format, text) = match format {
                Format::Dot => ("dot", graphviz(&dots)),
                _ => ("mermaid", mermaid(&dots)),
            };
            if app.out.is_json() {
                app.out.record(&GraphTextRecord { v: 1, chat: &args.chat, format, text: &text })?;
            } else {
                app.out.text(&text)?;
            }
        }
    }
    Ok(Outcome::Success)
}

fn records(app: &mut App, nodes: &[PlacedNode], marks: &Marks<'_>) -> Result<(), Failure> {
    for placed in nodes {
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
    Ok(())
}

fn dot<'a>(placed: &'a PlacedNode, marks: &Marks<'_>) -> Dot<'a> {
    let node = &placed.node;
    let marks = marks.words(&node.id);
    Dot {
        id: node.id.as_str(),
        parent: placed.parent.as_ref().map(AsRef::as_ref),
        head: format!("{}  {}", short_id(&node.id), role(node)),
        text: node_preview(node),
        shown: !marks.is_empty() || node.kind == NodeKind::Boundary,
        marks,
    }
}

/// Returns a branch as the drawing marks it.
fn name(branch: &Branch) -> String {
    format!("[{}{}]", clean(branch.name.as_str()), if branch.active { "*" } else { "" })
}
