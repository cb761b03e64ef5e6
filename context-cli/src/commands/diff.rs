//! `diff`: shows where two branches part, and the messages of each since.

use context_runtime::{
    BranchName,
    store::{Chain, Node},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::engine;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::table::{Column, LONGEST_TEXT, Table};
use crate::text::{clean, count, node_line, node_preview, role, short_id, time};

/// Compare two branches: the last common message, and the later ones.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context diff support-7 main main-v2
  context diff support-7 main main-v2 --json | jq .at

Branches are compared by message ids, not by text.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// A branch
    left: String,
    /// Another one
    right: String,
}

/// JSON record of `diff`: the complete result.
#[derive(Serialize, JsonSchema)]
pub(super) struct DiffRecord<'a> {
    v: u32,
    chat: &'a str,
    /// The number of common messages, from the root.
    common: usize,
    /// The last common message.
    at: Option<&'a str>,
    left: Side<'a>,
    right: Side<'a>,
}

/// A branch of a [`DiffRecord`].
#[derive(Serialize, JsonSchema)]
pub(super) struct Side<'a> {
    branch: &'a str,
    /// The messages that only this branch has.
    messages: Vec<SideMessage<'a>>,
}

/// A message of a [`Side`].
#[derive(Serialize, JsonSchema)]
pub(super) struct SideMessage<'a> {
    id: &'a str,
    role: &'static str,
    preview: String,
    created_at: String,
}

impl<'a> Side<'a> {
    fn new(branch: &'a str, chain: &'a Chain) -> Self {
        let message = |node: &'a std::sync::Arc<Node>| SideMessage {
            id: node.id.as_str(),
            role: role(node),
            preview: node_preview(node),
            created_at: time(node.created_at),
        };
        Self { branch, messages: chain.iter().map(message).collect() }
    }
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let (left, right) =
        (BranchName::from(args.left.as_str()), BranchName::from(args.right.as_str()));
    let diff = engine(app, store, &args.chat).await?.diff(&left, &right).await?;
    if app.out.is_json() {
        app.out.record(&DiffRecord {
            v: 1,
            chat: &args.chat,
            common: diff.common,
            at: diff.at.as_ref().map(AsRef::as_ref),
            left: Side::new(&args.left, &diff.left),
            right: Side::new(&args.right, &diff.right),
        })?;
        return Ok(Outcome::Success);
    }
    let share = match &diff.at {
        None => "share no message".to_owned(),
        Some(at) => format!("share {}, up to {}", count(diff.common, "message"), short_id(at)),
    };
    app.out.line(format_args!("{} and {} {share}", clean(&args.left), clean(&args.right)))?;
    for (branch, chain) in [(&args.left, &diff.left), (&args.right, &diff.right)] {
        side(app, branch, chain)?;
    }
    Ok(Outcome::Success)
}

fn side(app: &mut App, branch: &str, chain: &Chain) -> Result<(), Failure> {
    let name = app.out.paint(Style::Bold, clean(branch)).to_string();
    if chain.is_empty() {
        return app.out.line(format_args!("{name} has no other messages"));
    }
    app.out.line(format_args!("{name} has {} more:", count(chain.len(), "message")))?;
    let mut table = Table::new([
        Column::word("ID").style(Style::Yellow),
        Column::word("ROLE"),
        Column::text("MESSAGE"),
        Column::time("WRITTEN"),
    ]);
    for node in chain.iter() {
        let (id, when) = (short_id(&node.id), app.out.when(node.created_at));
        table.row([
            id.into(),
            role(node).into(),
            node_line(node, LONGEST_TEXT).into(),
            when.into(),
        ]);
    }
    table.write(&mut app.out)
}
