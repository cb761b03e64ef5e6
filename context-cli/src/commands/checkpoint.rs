//! `checkpoint`: sets, lists and deletes named pointers to messages.

use std::sync::Arc;

use context_runtime::removal::{RemovalOptions, RemovalReport, delete_checkpoint};
use context_runtime::workspace::Snapshot;
use context_runtime::{ChatRef, CheckpointName, Error, Store, store::Checkpoint};
use schemars::JsonSchema;
use serde::Serialize;

use super::branches::{OF_MESSAGES, of_messages, show_references};
use super::removal_report::{RemovalArgs, confirm, totals};
use super::workspace::{WorkspaceArgs, left_out, short};
use super::{existing_chat, find_message};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::table::{Column, Table};
use crate::text::{clean, short_id, time};

/// Set, list and delete checkpoints.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context checkpoint support-7                       list them
  context checkpoint support-7 before-payment        at the newest message of the active branch
  context checkpoint support-7 before-payment --at m4
  context checkpoint support-7 before-payment --workspace .   with a snapshot of the files
  context checkpoint support-7 before-payment --delete
  context checkpoint support-7 before-payment --delete --dry-run

--delete asks if messages go that nothing else reaches, or a snapshot of the files.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The checkpoint to set or delete
    name: Option<String>,
    /// The message of the checkpoint [default: the newest of the active branch]
    #[arg(long, value_name = "MESSAGE", requires = "name", conflicts_with = "workspace")]
    at: Option<String>,
    /// Delete the checkpoint
    #[arg(long, requires = "name", conflicts_with = "at")]
    delete: bool,
    /// Only show what --delete would remove
    #[arg(long, requires = "delete")]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// JSON record of `checkpoint`: one checkpoint.
#[derive(Serialize, JsonSchema)]
pub(super) struct CheckpointRecord<'a> {
    v: u32,
    checkpoint: &'a str,
    message: Option<&'a str>,
    created_at: Option<String>,
    /// `there`, `set`, `would_go` or `deleted`.
    status: &'static str,
    /// The id of the snapshot of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    removed: Option<&'a RemovalReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_reached: Option<&'a [&'static str]>,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_unless(args.name.is_none() || args.dry_run).await?;
    let chat = app.chat(&args.chat);
    let Some(name) = args.name.map(CheckpointName::from) else {
        existing_chat(store.history(), &chat).await?;
        let all = store.history().checkpoints(&chat).await?;
        return list(app, &args.chat, &all);
    };
    if args.delete {
        let removal = RemovalArgs { dry_run: args.dry_run, yes: args.yes };
        return delete(app, store, &chat, &name, &removal, &args.workspace).await;
    }
    let (checkpoint, snapshot) = match &args.at {
        Some(text) => {
            let message = find_message(store.history(), &chat, text).await?;
            let history = store.history();
            (history.set_checkpoint(&chat, &name, &message.node.id, app.now()).await?, None)
        }
        None => {
            let mut engine = args.workspace.engine(app, store, &args.chat).await?;
            let set = engine.checkpoint_workspace(name).await?;
            (set.checkpoint, set.snapshot)
        }
    };
    write(app, &checkpoint, "set", snapshot.as_ref())?;
    Ok(Outcome::Success)
}

fn list(app: &mut App, chat: &str, all: &[Checkpoint]) -> Result<Outcome, Failure> {
    if app.out.is_json() {
        all.iter().try_for_each(|checkpoint| write(app, checkpoint, "there", None))?;
        return Ok(Outcome::Success);
    }
    let mut table = Table::new([
        Column::id("CHECKPOINT"),
        Column::word("MESSAGE").style(Style::Yellow),
        Column::time("SET"),
    ]);
    for checkpoint in all {
        let when = app.out.when(checkpoint.created_at);
        let message = short_id(&checkpoint.message);
        table.row([checkpoint.name.as_str().into(), message.into(), when.into()]);
    }
    table.write(&mut app.out)?;
    if all.is_empty() {
        app.out.note(format_args!("chat {chat} has no checkpoints"));
    }
    Ok(Outcome::Success)
}

async fn delete(
    app: &mut App,
    store: Arc<dyn Store>,
    chat: &ChatRef,
    name: &CheckpointName,
    removal: &RemovalArgs,
    workspace: &WorkspaceArgs,
) -> Result<Outcome, Failure> {
    existing_chat(store.history(), chat).await?;
    let dry = RemovalOptions::at(app.now()).dry_run(true);
    let mut report = delete_checkpoint(&*store, chat, name, &dry).await?;
    // A checkpoint alone is set again with `--at`.
    if removal.asks() && (report.messages > 0 || workspace.is_named()) {
        let files = if workspace.is_named() { " and its snapshot of the files" } else { "" };
        confirm(app, &format!("{}{files}", totals([&report])), OF_MESSAGES)?;
    }
    if !removal.dry_run {
        let mut engine = workspace.engine(app, Arc::clone(&store), chat.chat.as_str()).await?;
        if !engine.delete_checkpoint(name).await? {
            return Err(Error::not_found("delete_checkpoint", "checkpoint", name).into());
        }
        report.items.clear();
    }
    if app.out.is_json() {
        app.out.record(&CheckpointRecord {
            v: 1,
            checkpoint: name.as_str(),
            message: None,
            created_at: None,
            status: if removal.dry_run { "would_go" } else { "deleted" },
            snapshot: None,
            removed: Some(&report),
            not_reached: Some(&of_messages(&*store, &report)),
        })?;
        return Ok(Outcome::Success);
    }
    let text = format!("checkpoint {name} of chat {}", chat.chat);
    show_references(app, removal, &*store, &report, &text)
}

fn write(
    app: &mut App,
    checkpoint: &Checkpoint,
    status: &'static str,
    snapshot: Option<&Snapshot>,
) -> Result<(), Failure> {
    let name = checkpoint.name.as_str();
    if app.out.is_json() {
        return app.out.record(&CheckpointRecord {
            v: 1,
            checkpoint: name,
            message: Some(checkpoint.message.as_str()),
            created_at: Some(time(checkpoint.created_at)),
            status,
            snapshot: snapshot.map(|snapshot| snapshot.id.as_str()),
            removed: None,
            not_reached: None,
        });
    }
    let name = app.out.paint(Style::Bold, clean(name)).to_string();
    let files = snapshot.map(|snapshot| format!("  files {}", short(snapshot))).unwrap_or_default();
    let done = app.out.paint(Style::Green, status).to_string();
    app.out.line(format_args!("{done} {name} at {}{files}", short_id(&checkpoint.message)))?;
    snapshot.iter().for_each(|snapshot| left_out(&snapshot.diagnostics, &app.out));
    Ok(())
}
