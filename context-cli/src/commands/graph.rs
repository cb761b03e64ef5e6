//! `graph`: draws the message graph of a chat.

use clap::ValueEnum;
use context_runtime::{
    BranchName, Error, GraphDetail, GraphFormat, GraphLine, GraphOptions, GraphSpan, MessageGraph,
};
use schemars::JsonSchema;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::output_args::OutputArgs;
use super::{Marks, existing_chat};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::{Output, Style};
use crate::table::cut;
use crate::text::{node_preview, parse_limit, role, time};

/// The width that the text of a message keeps as long as the numbers of messages can give way.
const SHORT_TEXT: usize = 16;

/// Draw the message graph of a chat.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context graph support-7
  context graph support-7 --reverse -n 20    newest first, as git does
  context graph support-7 --branch try-2     the path of this branch is straight
  context graph support-7 --format mermaid   for a Markdown file
  context graph support-7 --format dot | dot -Tsvg -o support-7.svg
  context graph support-7 --format json      one record per message

Oldest first, so that the newest messages are above the prompt. ● is a turn of the active branch,
which is straight at the left; ○ is one of another branch, ◆ and ◇ are boundaries of compactions.
The star marks the active branch. A turn is a message of the user and the messages up to the next
one. It ends early where something branches or is marked: a mark is at the last message of its line.
⋮ stands for turns where nothing branches; --full draws them. --json alone is --format json; with
mermaid or dot it gives one record with the text.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The format [default: text]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The branch that is straight and marked [default: the active one]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Only this many turns of that branch, the newest, and what branches off from them
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_limit)]
    limit: Option<usize>,
    /// The newest first
    #[arg(long)]
    reverse: bool,
    /// Draw every turn
    #[arg(long)]
    full: bool,
    /// Draw every message
    #[arg(long)]
    messages: bool,
    #[command(flatten)]
    to: OutputArgs,
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
    /// Whether it is a message of the active branch, or of the one that `--branch` names.
    on_path: bool,
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
    let mut graph = MessageGraph::read(history, &chat).await?;
    let options = args.options();
    if let Some(name) = &options.branch
        && !graph.branches.iter().any(|branch| branch.name == *name)
    {
        return Err(Error::not_found("find", "branch", name).with("chat", &args.chat).into());
    }
    if let Some(turns) = args.limit {
        graph.keep_newest(turns, options.branch.as_ref());
    }
    args.to.redirect(&mut app.out)?;
    let format = match args.format {
        None | Some(Format::Text) if app.out.is_json() => return records(app, &graph, &options),
        Some(Format::Json) => return records(app, &graph, &options),
        None | Some(Format::Text) => {
            for line in graph.lines(&options) {
                let line = paint(&app.out, fitted(line, app.out.columns()));
                app.out.line(line)?;
            }
            return Ok(Outcome::Success);
        }
        Some(Format::Mermaid) => GraphFormat::Mermaid,
        Some(Format::Dot) => GraphFormat::Dot,
    };
    let text = graph.draw_with(format, &options);
    if app.out.is_json() {
        let format = format.as_str();
        app.out.record(&GraphTextRecord { v: 1, chat: &args.chat, format, text: &text })?;
    } else {
        app.out.text(&text)?;
    }
    Ok(Outcome::Success)
}

impl Args {
    fn options(&self) -> GraphOptions {
        let mut options = GraphOptions::default();
        options.branch = self.branch.as_deref().map(BranchName::from);
        options.reverse = self.reverse;
        options.detail = match (self.messages, self.full || self.limit.is_some()) {
            (true, _) => GraphDetail::Messages,
            (false, true) => GraphDetail::Turns,
            (false, false) => GraphDetail::Overview,
        };
        options
    }
}

/// Shortens a line to the width of the terminal: its text first, then the number of its messages.
fn fitted(mut line: GraphLine, columns: Option<usize>) -> GraphLine {
    let Some(columns) = columns else { return line };
    let width = |line: &GraphLine, is_counted: fn(GraphSpan) -> bool| -> usize {
        line.spans.iter().filter(|span| is_counted(span.0)).map(|span| span.1.width()).sum()
    };
    let is_text = |kind| kind == GraphSpan::Text;
    let text = width(&line, is_text);
    if width(&line, |kind| kind != GraphSpan::Text) + text.min(SHORT_TEXT) > columns {
        line.spans.retain(|(kind, _)| *kind != GraphSpan::Size);
    }
    let mut room = columns.saturating_sub(width(&line, |kind| kind != GraphSpan::Text));
    for (_, text) in line.spans.iter_mut().filter(|span| is_text(span.0)) {
        *text = cut(text, room).into_owned();
    }
    // Whatever is still too long, such as names of branches, is cut at the end of the line.
    room = columns;
    for (_, text) in &mut line.spans {
        let width = text.width();
        if width > room {
            *text = if room == 0 { String::new() } else { cut(text, room).into_owned() };
        }
        // After what was cut there is nothing.
        room = room.saturating_sub(width);
    }
    line
}

/// Colours a line.
fn paint(out: &Output, line: GraphLine) -> String {
    let style = |kind| match kind {
        GraphSpan::Path | GraphSpan::Branch => Some(Style::Green),
        GraphSpan::Id | GraphSpan::Checkpoint | GraphSpan::Pin => Some(Style::Yellow),
        GraphSpan::Size | GraphSpan::Hidden => Some(Style::Dim),
        _ => None,
    };
    let paint = |(kind, text): (GraphSpan, String)| match style(kind) {
        Some(style) => out.paint(style, text).to_string(),
        None => text,
    };
    line.spans.into_iter().map(paint).collect()
}

fn records(
    app: &mut App,
    graph: &MessageGraph,
    options: &GraphOptions,
) -> Result<Outcome, Failure> {
    let marks = Marks::new(&graph.branches, &graph.checkpoints);
    let path = graph.path(options.branch.as_ref());
    let mut nodes: Vec<_> = graph.nodes.iter().collect();
    if options.reverse {
        nodes.reverse();
    }
    for placed in nodes {
        app.out.record(&GraphRecord {
            v: 1,
            id: placed.node.id.as_str(),
            parent: placed.parent.as_ref().map(AsRef::as_ref),
            depth: placed.depth,
            role: role(&placed.node),
            preview: node_preview(&placed.node),
            created_at: time(placed.node.created_at),
            on_path: path.contains(&placed.node.id),
            branches: marks.branches_at(&placed.node.id),
            checkpoints: marks.checkpoints_at(&placed.node.id),
        })?;
    }
    Ok(Outcome::Success)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(
            texts in prop::collection::vec("[a日🚆é\u{301}\u{fe0f} ]{0,30}|\\PC{0,40}", 8),
            columns in 0..140usize,
        ) {
            const KINDS: [GraphSpan; 8] = [
                GraphSpan::Path, GraphSpan::Column, GraphSpan::Id, GraphSpan::Role,
                GraphSpan::Text, GraphSpan::Size, GraphSpan::Branch, GraphSpan::Pin,
            ];
            let mut line = GraphLine::default();
            line.spans = KINDS.into_iter().zip(texts).collect();
            let whole = line.to_string();
            let shown = fitted(line, Some(columns));
            let width: usize = shown.spans.iter().map(|(_, text)| text.width()).sum();
            prop_assert!(width <= columns);
            if whole.width() + 8 <= columns {
                prop_assert_eq!(shown.to_string(), whole);
            }
        }
    }
}
