//! `delete`: permanently deletes chats with all their data.

use context_runtime::Error;
use context_runtime::removal::{RemovalOptions, RemovalReport, delete_chat};
use serde::Serialize;

use super::removal_report::show;
use super::workspace::WorkspaceArgs;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::text::clean;

/// Delete chats.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  context delete support-7 support-8

The branches, checkpoints, fragments, blobs and streams of the chats are deleted for good, and so are
the trajectory rounds and memories that came from them. A round that also belongs to another chat
stays, without the content of these chats. Then the rest of the user's data is searched for the same
words, and every place that has them, such as a copy of a chat, is listed. If one of the chats does
not exist, none is deleted. After an interrupt, run the command again.

Not reached: backups, exports, local files of trajectories, and snapshots of a workspace that
--workspace does not name.")]
pub(crate) struct Args {
    /// The chats
    #[arg(required = true, value_name = "CHAT")]
    chats: Vec<String>,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// JSON record of `delete`: one chat.
#[derive(Serialize)]
struct DeleteRecord<'a> {
    v: u32,
    chat: &'a str,
    /// False if another process deleted the chat first.
    deleted: bool,
    /// The removed copies, and the remaining ones.
    removed: &'a RemovalReport,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_write().await?;
    let options = RemovalOptions::at(app.now()).cancel(app.interrupt());
    for name in &args.chats {
        let chat = app.chat(name);
        if store.history().chat(&chat).await?.is_some() {
            continue;
        }
        // An interrupted deletion may have left data of the chat.
        let left = delete_chat(&*store, &chat, None, &options).await?;
        if left.removed().next().is_none() {
            return Err(Error::not_found("find", "chat", &chat.chat)
                .with("user", &chat.user)
                .into());
        }
    }
    app.out.outlive_reader();
    let mut done = Outcome::Success;
    for name in &args.chats {
        // First, because finding them takes the chat.
        let found = store.history().chat(&app.chat(name)).await?;
        if let Some(chat) = found.filter(|_| args.workspace.is_named()) {
            args.workspace.discard(&chat).await?;
        }
        let removed = delete_chat(&*store, &app.chat(name), None, &options).await?;
        if app.out.is_json() {
            let deleted = removed.chats > 0;
            app.out.record(&DeleteRecord { v: 1, chat: name, deleted, removed: &removed })?;
        } else {
            app.out.line(format_args!("deleted {}", clean(name)))?;
        }
        show(app, name, &removed, "chat")?;
        if removed.found > 0 {
            done = Outcome::Findings;
        }
    }
    Ok(done)
}
