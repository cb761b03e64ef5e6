//! `restore`: goes back to a checkpoint, on a new branch.

use super::moved_both;
use super::workspace::WorkspaceArgs;
use crate::app::{App, Outcome};
use crate::error::Failure;

/// Go back to a checkpoint, on a new branch.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context restore support-7 before-payment
  context restore support-7 before-payment --workspace .   the files of the checkpoint too

No message is removed: the previous branch stays as it is. Before files are changed, a snapshot is
taken of them.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The checkpoint
    checkpoint: String,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_write().await?;
    let mut engine = args.workspace.engine(app, store, &args.chat).await?;
    let result = engine.restore(args.checkpoint.as_str()).await?;
    moved_both(&mut app.out, &args.chat, &result, &args.workspace)
}
