//! `rewind`: goes back to a message, on a new branch.

use super::workspace::WorkspaceArgs;
use super::{find_message, moved_both};
use crate::app::{App, Outcome};
use crate::error::Failure;

/// Go back to a message, on a new branch.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context rewind support-7 m4                the new branch ends with m4
  context rewind support-7 m4 --workspace .  the files too, if there is a snapshot

No message is removed: the previous branch stays as it is. Before files are changed, a snapshot is
taken of them, and `context branches support-7 --switch main --workspace .` brings them back.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The message the new branch ends with
    message: String,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_write().await?;
    let message = find_message(store.history(), &app.chat(&args.chat), &args.message).await?;
    let mut engine = args.workspace.engine(app, store, &args.chat).await?;
    let result = engine.rewind(&message.node.id).await?;
    moved_both(&mut app.out, &args.chat, &result, &args.workspace)
}
