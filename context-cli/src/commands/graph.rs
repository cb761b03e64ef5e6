//! `graph`: draws the message graph of a chat.

use clap::ValueEnum;
use context_runtime::{GraphFormat, MessageGraph};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Marks, existing_chat};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::text::{node_preview, role, time};

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
#[derive(Serialize, JsonSchema)]
pub(super) struct GraphRecord<'a> {
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
#[derive(Serialize, JsonSchema)]
pub(super) struct GraphTextRecord<'a> {
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
    let graph = MessageGraph::read(history, &chat).await?;
    let format = match args.format {
        None | Some(Format::Text) if app.out.is_json() => return records(app, &graph),
        Some(Format::Json) => return records(app, &graph),
        None | Some(Format::Text) => GraphFormat::Text,
        Some(Format::Mermaid) => GraphFormat::Mermaid,
        Some(Format::Dot) => GraphFormat::Dot,
    };
    let text = graph.draw(format);
    if app.out.is_json() {
        let format = format.as_str();
        app.out.record(&GraphTextRecord { v: 1, chat: &args.chat, format, text: &text })?;
    } else if format == GraphFormat::Text {
        text.lines().try_for_each(|line| app.out.line(line))?;
    } else {
        app.out.text(&text)?;
    }
    Ok(Outcome::Success)
}

fn records(app: &mut App, graph: &MessageGraph) -> Result<Outcome, Failure> {
    let marks = Marks::new(&graph.branches, &graph.checkpoints);
    for placed in &graph.nodes {
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
    Ok(Outcome::Success)
}
