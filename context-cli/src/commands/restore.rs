//! `restore`: goes back to a checkpoint, on a new branch.

use super::{engine, moved};
use crate::app::{App, Outcome};
use crate::error::Failure;

/// Go back to a checkpoint, on a new branch.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  context restore support-7 before-payment

No message is removed: the previous branch stays as it is.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The checkpoint
    checkpoint: String,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_write().await?;
    let result = engine(app, store, &args.chat).await?.restore(args.checkpoint.as_str()).await?;
    moved(&mut app.out, &args.chat, &result.branch, result.head.as_ref(), true)
}
