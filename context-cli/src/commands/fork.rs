//! `fork`: creates a branch at any message and optionally activates it.

use context_runtime::{
    Error, ErrorKind, IdGenerator,
    store::{Commit, CommitOutcome, ForkName, Target},
};

use super::{existing_chat, find_message, moved};
use crate::app::{App, Outcome};
use crate::error::Failure;

/// Start a new branch.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context fork support-7                     at the newest message; the active branch stays
  context fork support-7 --at m4 --name cheaper --switch")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The message after which it begins [default: the newest of the active branch]
    #[arg(long, value_name = "MESSAGE")]
    at: Option<String>,
    /// Its name [default: the active branch's with the next free version]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Make it the active branch
    #[arg(long)]
    switch: bool,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_write().await?;
    let history = store.history();
    let chat = app.chat(&args.chat);
    let active = existing_chat(history, &chat).await?.active;
    let at = match &args.at {
        Some(text) => Some(find_message(history, &chat, text).await?.node.id.clone()),
        None => {
            let branches = history.branches(&chat).await?;
            branches.into_iter().find(|branch| branch.name == active).and_then(|branch| branch.head)
        }
    };
    let name = match args.name {
        Some(name) => ForkName::Exact(name.into()),
        None => ForkName::NextVersionOf(active),
    };
    let wanted = name.base().clone();
    let target = Target::Fork { name, at, activate: args.switch };
    let mut commit = Commit::new(chat, target, app.now());
    commit.key = Some(app.host.next_id().into());
    match history.commit(commit).await? {
        CommitOutcome::Applied(done) | CommitOutcome::Replayed(done) => {
            let branch = done.branch.unwrap_or(wanted);
            moved(&mut app.out, &args.chat, &branch, done.head.as_ref(), args.switch)
        }
        _ => Err(Error::new(ErrorKind::Conflict, "fork", "a branch of this name exists")
            .with("branch", wanted)
            .into()),
    }
}
