//! `show`: shows one message in full, with its position and its earlier revisions.

use context_runtime::{
    ChatRef, Json, Message, MessageId, Part, Store, WrittenIn,
    compaction::FrontEntry,
    store::{Node, StoredBoundary},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{all_readable, body, find_message, written_in};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{boundary, clean, clean_lines, part, role, time};

/// Show one message in full.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context show support-7 m4
  context show support-7 m4 --json

An id may be shortened at either end, as long as it matches only one message.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The message
    message: String,
}

/// JSON record of `show`: one message.
#[derive(Serialize, JsonSchema)]
pub(super) struct ShowRecord<'a> {
    v: u32,
    chat: &'a str,
    id: &'a str,
    /// The preceding message.
    parent: Option<&'a str>,
    /// The number of messages before it.
    depth: u64,
    role: &'static str,
    created_at: String,
    /// The number of amendments.
    revision: u32,
    /// The turn and the run that wrote it, if they are recorded.
    #[serde(flatten)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    written_in: WrittenIn,
    /// The message: `role`, `parts`, `metadata`. Null if this version cannot read it.
    #[schemars(with = "Option<serde_json::Value>")]
    message: Option<Json>,
    /// The earlier revisions, oldest first.
    #[schemars(with = "Vec<Option<serde_json::Value>>")]
    revisions: Vec<Option<Json>>,
    /// The trajectory nodes linked to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeRecord>,
}

/// A node that represents a message.
#[derive(Serialize, JsonSchema)]
pub(super) struct NodeRecord {
    session: String,
    /// The calling agent, 0 for the main one.
    agent: u32,
    /// Round and number, as in `0.3`.
    node: String,
}

/// Returns the trajectory nodes linked to a message. Empty if the store does not support
/// trajectories.
async fn nodes_of(
    store: &dyn Store,
    chat: &ChatRef,
    message: &MessageId,
) -> Result<Vec<NodeRecord>, Failure> {
    let Some(rounds) = store.trajectories() else { return Ok(Vec::new()) };
    let nodes = rounds.nodes_of_message(&chat.user, &chat.chat, message).await?;
    let nodes = nodes.into_iter().map(|it| NodeRecord {
        session: it.agent.session.to_string(),
        agent: it.agent.agent,
        node: it.node.to_string(),
    });
    Ok(nodes.collect())
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let history = store.history();
    let chat = app.chat(&args.chat);
    let placed = find_message(history, &chat, &args.message).await?;
    let node = &placed.node;
    let revisions = history.revisions(&chat, &node.id).await?;
    let nodes = nodes_of(&*store, &chat, &node.id).await?;
    let shown = || std::iter::once(&**node).chain(revisions.iter().map(|revision| &*revision.node));
    if app.out.is_json() {
        app.out.record(&ShowRecord {
            v: 1,
            chat: &args.chat,
            id: node.id.as_str(),
            parent: placed.parent.as_ref().map(AsRef::as_ref),
            depth: placed.depth,
            role: role(node),
            created_at: time(node.created_at),
            revision: node.revision,
            written_in: written_in(node),
            message: body(node),
            revisions: revisions.iter().map(|revision| body(&revision.node)).collect(),
            nodes,
        })?;
        all_readable(&args.chat, shown())?;
        return Ok(Outcome::Success);
    }
    let id = app.out.paint(Style::Yellow, clean(node.id.as_str())).to_string();
    let parent = placed
        .parent
        .map_or_else(|| "a root".to_owned(), |parent| format!("after {}", clean(parent.as_str())));
    let edits = match node.revision {
        0 => String::new(),
        n => format!(" · revision {n}"),
    };
    app.out.line(format_args!(
        "{id} · {} · {} · {parent}{edits}",
        role(node),
        app.out.when(node.created_at)
    ))?;
    let WrittenIn { turn, run, .. } = written_in(node);
    let ids = [turn.map(|id| format!("turn {id}")), run.map(|id| format!("run {id}"))];
    let ids: Vec<_> = ids.into_iter().flatten().collect();
    if !ids.is_empty() {
        let ids = app.out.paint(Style::Dim, clean(&ids.join(" · "))).to_string();
        app.out.line(ids)?;
    }
    for NodeRecord { session, agent, node } in &nodes {
        let agent = if *agent == 0 { String::new() } else { format!(" --agent {agent}") };
        let node = format!("node {node}: context trajectory show {} {node}{agent}", clean(session));
        let node = app.out.paint(Style::Dim, node).to_string();
        app.out.line(node)?;
    }
    write_parts(app, node)?;
    for revision in &revisions {
        let head = app
            .out
            .paint(Style::Dim, format!("\nrevision {} was:", revision.node.revision))
            .to_string();
        app.out.line(head)?;
        write_parts(app, &revision.node)?;
    }
    all_readable(&args.chat, shown())?;
    Ok(Outcome::Success)
}

fn write_parts(app: &mut App, node: &Node) -> Result<(), Failure> {
    if let Some(description) = boundary(node) {
        app.out.line(format_args!("\n{}", clean(&description)))?;
        // The message that a compaction put in place of others exists only in the boundary.
        let made =
            StoredBoundary::decode(node.body()).map(|boundary| boundary.front).unwrap_or_default();
        return made.iter().try_for_each(|entry| match entry {
            FrontEntry::Made { message, .. } => write_message(app, message),
            _ => Ok(()),
        });
    }
    let Ok(message) = node.message() else {
        let (kind, version) = (node.body().kind(), node.body().version());
        return app
            .out
            .line(format_args!("\n({kind} version {version}: this program cannot read it)"));
    };
    write_message(app, message)
}

fn write_message(app: &mut App, message: &Message) -> Result<(), Failure> {
    for each in &message.parts {
        let mark = if matches!(each, Part::Text(_)) { "" } else { "  " };
        app.out.line(format_args!("\n{mark}{}", clean_lines(&part(each)).trim_end()))?;
    }
    Ok(())
}
