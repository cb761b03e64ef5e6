//! `delete`: deletes chats and everything in them, for good.

use serde::Serialize;

use super::existing_chat;
use crate::app::{App, Done};
use crate::error::Failure;
use crate::text::clean;

/// Delete chats.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  context delete support-7 support-8

All branches, checkpoints and fragments of the chats go too, and do not come back. If one of the
chats does not exist, none is deleted.")]
pub(crate) struct Args {
    /// The chats
    #[arg(required = true, value_name = "CHAT")]
    chats: Vec<String>,
}

/// JSON record of `delete`: one chat.
#[derive(Serialize)]
struct DeleteRecord<'a> {
    v: u32,
    chat: &'a str,
    /// False if somebody else was faster.
    deleted: bool,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Done, Failure> {
    let store = app.store_to_write().await?;
    let history = store.history();
    for chat in &args.chats {
        existing_chat(history, &app.chat(chat)).await?;
    }
    app.out.outlive_reader();
    for chat in &args.chats {
        let deleted = history.delete_chat(&app.chat(chat), None).await?;
        if app.out.is_json() {
            app.out.record(&DeleteRecord { v: 1, chat, deleted })?;
        } else {
            app.out.line(format_args!("deleted {}", clean(chat)))?;
        }
    }
    Ok(Done::Fine)
}
