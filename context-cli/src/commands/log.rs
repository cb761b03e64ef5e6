//! `log`: prints one line per message of a branch, oldest first.

use context_runtime::WrittenIn;
use context_runtime::store::Window;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Marks, all_readable, branch_end, written_in};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::table::{Column, LONGEST_TEXT, Table};
use crate::text::{count, node_line, node_preview, parse_limit, role, short_id, time};

/// List the messages of a branch.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context log support-7
  context log support-7 --branch main-v2 -n 20

The star marks the active branch. `context show CHAT MESSAGE` shows a message in full; an id may be
shortened at either end.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The branch [default: the active one]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Only the newest messages
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_limit)]
    limit: Option<usize>,
}

/// JSON record of `log`: one message.
#[derive(Serialize, JsonSchema)]
pub(super) struct LogRecord<'a> {
    v: u32,
    id: &'a str,
    /// `system`, `user`, `assistant`, `tool` or `boundary`.
    role: &'static str,
    /// The beginning of its text.
    preview: String,
    created_at: String,
    /// The number of amendments.
    revision: u32,
    /// The turn and the run that wrote it, if they are recorded.
    #[serde(flatten)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    written_in: WrittenIn,
    /// The branches whose head is this message.
    branches: Vec<String>,
    checkpoints: Vec<String>,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let history = store.history();
    let chat = app.chat(&args.chat);
    let end = branch_end(history, &chat, args.branch.as_deref()).await?;
    let window = args.limit.map_or(Window::Whole, Window::Last);
    let chain = history.chain(&chat, &end, &window).await?;
    let (branches, checkpoints) =
        (history.branches(&chat).await?, history.checkpoints(&chat).await?);
    let marks = Marks::new(&branches, &checkpoints);
    if app.out.is_json() {
        for node in chain.iter() {
            app.out.record(&LogRecord {
                v: 1,
                id: node.id.as_str(),
                role: role(node),
                preview: node_preview(node),
                created_at: time(node.created_at),
                revision: node.revision,
                written_in: written_in(node),
                branches: marks.branches_at(&node.id),
                checkpoints: marks.checkpoints_at(&node.id),
            })?;
        }
        all_readable(&args.chat, chain.iter().map(|node| &**node))?;
        return Ok(Outcome::Success);
    }
    if !chain.is_whole() {
        let before = format!("({} before)", count(chain.skipped() as usize, "message"));
        let before = app.out.paint(Style::Dim, before).to_string();
        app.out.line(before)?;
    }
    let mut table = Table::new([
        Column::word("ID").style(Style::Yellow),
        Column::word("ROLE"),
        Column::text("MESSAGE"),
        Column::word("MARKS").style(Style::Green),
        Column::time("WRITTEN"),
    ]);
    for node in chain.iter() {
        let mut text = node_line(node, LONGEST_TEXT);
        if node.revision > 0 {
            text = format!("(revision {}) {text}", node.revision);
        }
        let (id, when) = (short_id(&node.id), app.out.when(node.created_at));
        let marks = marks.words(&node.id);
        table.row([id.into(), role(node).into(), text.into(), marks.into(), when.into()]);
    }
    table.write(&mut app.out)?;
    if chain.is_empty() {
        app.out.note("no messages on this branch yet");
    }
    all_readable(&args.chat, chain.iter().map(|node| &**node))?;
    Ok(Outcome::Success)
}
