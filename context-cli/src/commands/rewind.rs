//! `rewind`: goes back to a message, on a new branch.

use super::{engine, find_message, moved};
use crate::app::{App, Outcome};
use crate::error::Failure;

/// Go back to a message, on a new branch.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  context rewind support-7 m4                the new branch ends with m4

No message is removed: the previous branch stays as it is.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The message the new branch ends with
    message: String,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_write().await?;
    let message = find_message(store.history(), &app.chat(&args.chat), &args.message).await?;
    let result = engine(app, store, &args.chat).await?.rewind(&message.node.id).await?;
    moved(&mut app.out, &args.chat, &result.branch, result.head.as_ref(), true)
}
