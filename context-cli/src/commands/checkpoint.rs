//! `checkpoint`: sets, lists and deletes named pointers to messages.

use context_runtime::workspace::Snapshot;
use context_runtime::{CheckpointName, Error, store::Checkpoint};
use serde::Serialize;

use super::workspace::{WorkspaceArgs, left_out, short};
use super::{existing_chat, find_message};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, short_id, short_time, time};

/// Set, list and delete checkpoints.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context checkpoint support-7                       list them
  context checkpoint support-7 before-payment        at the newest message of the active branch
  context checkpoint support-7 before-payment --at m4
  context checkpoint support-7 before-payment --workspace .   with a snapshot of the files
  context checkpoint support-7 before-payment --delete")]
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
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// JSON record of `checkpoint`: one checkpoint.
#[derive(Serialize)]
struct CheckpointRecord<'a> {
    v: u32,
    checkpoint: &'a str,
    message: Option<&'a str>,
    created_at: Option<String>,
    /// `there`, `set` or `deleted`.
    status: &'static str,
    /// The id of the snapshot of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<&'a str>,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_unless(args.name.is_none()).await?;
    let chat = app.chat(&args.chat);
    let Some(name) = args.name.map(CheckpointName::from) else {
        existing_chat(store.history(), &chat).await?;
        for checkpoint in store.history().checkpoints(&chat).await? {
            write(app, &checkpoint, "there", None)?;
        }
        return Ok(Outcome::Success);
    };
    if args.delete {
        let mut engine = args.workspace.engine(app, store, &args.chat).await?;
        if !engine.delete_checkpoint(&name).await? {
            return Err(Error::not_found("delete_checkpoint", "checkpoint", &name).into());
        }
        if app.out.is_json() {
            let checkpoint = name.as_str();
            app.out.record(&CheckpointRecord {
                v: 1,
                checkpoint,
                message: None,
                created_at: None,
                status: "deleted",
                snapshot: None,
            })?;
        } else {
            app.out.line(format_args!("deleted {}", clean(name.as_str())))?;
        }
        return Ok(Outcome::Success);
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
        });
    }
    let name = app.out.paint(Style::Bold, clean(name)).to_string();
    let when = app.out.paint(Style::Dim, short_time(checkpoint.created_at)).to_string();
    let files = snapshot.map(|snapshot| format!("  files {}", short(snapshot))).unwrap_or_default();
    app.out.line(format_args!("{name}  {when}  at {}{files}", short_id(&checkpoint.message)))?;
    snapshot.iter().for_each(|snapshot| left_out(&snapshot.diagnostics, &app.out));
    Ok(())
}
