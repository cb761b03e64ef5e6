//! `delete`: permanently deletes chats with all their data.

use context_runtime::Error;
use context_runtime::removal::{
    RemainingKind, RemovalOptions, RemovalReport, delete_chat, plan_deletion,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::removal_report::{
    RemovalArgs, along, confirm, copies, end, item, not_reached, shown_search, totals,
};
use super::workspace::WorkspaceArgs;
use crate::app::{App, Outcome};
use crate::error::Failure;

/// Delete chats.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context delete support-7 support-8         asks first
  context delete support-7 --dry-run         what would go, and what says the same elsewhere
  context delete support-7 --yes --json      in a script

The branches, checkpoints, fragments, blobs and streams of the chats are deleted for good, and so are
the trajectory rounds and memories that came from them. A round that also belongs to another chat
stays, without the content of these chats. Then the rest of the user's data is searched for the same
words, and every place that has them, such as a copy of a chat, is listed. If one of the chats does
not exist, none is deleted. After an interrupt, run the command again.

Not reached: backups, exports, logs, local files of trajectories, and snapshots of a workspace that
--workspace does not name. `context vacuum` clears the unused space of the store's files.")]
pub(crate) struct Args {
    /// The chats
    #[arg(required = true, value_name = "CHAT")]
    chats: Vec<String>,
    #[command(flatten)]
    removal: RemovalArgs,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// JSON record of `delete`: one chat.
#[derive(Serialize, JsonSchema)]
pub(super) struct DeleteRecord<'a> {
    v: u32,
    chat: &'a str,
    /// False in a dry run, and if another process deleted the chat first.
    deleted: bool,
    /// `would_go` or `removed`.
    status: &'static str,
    /// The removed copies, and the remaining ones.
    #[schemars(with = "serde_json::Value")]
    removed: &'a RemovalReport,
    not_reached: &'a [&'static str],
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_unless(args.removal.dry_run).await?;
    let options = RemovalOptions::at(app.now());
    let dry = options.clone().dry_run(true).find_copies(false);
    for name in &args.chats {
        let chat = app.chat(name);
        if store.history().chat(&chat).await?.is_some() {
            continue;
        }
        // An interrupted deletion may have left data of the chat.
        let left = delete_chat(&*store, &chat, None, &dry).await?;
        if left.removed().next().is_none() {
            return Err(Error::not_found("find", "chat", &chat.chat)
                .with("user", &chat.user)
                .into());
        }
    }
    let mut plans = Vec::new();
    if args.removal.asks() || args.removal.dry_run {
        let chats: Vec<_> = args.chats.iter().map(|name| app.chat(name)).collect();
        let (_looking, looks) = shown_search(app, &*store, "looking", &options).await?;
        plans = plan_deletion(&*store, &chats, &looks).await?;
    }
    if args.removal.asks() {
        confirm(app, &totals(&plans), &copies(&plans))?;
    }
    let mut plans = plans.into_iter();
    app.out.outlive_reader();
    let mut others = vec!["local files of trajectories"];
    if !args.workspace.is_named() {
        others.push("snapshots of a workspace");
    }
    let not_reached = not_reached(&*store, &others);
    let status = args.removal.status();
    let (_removing, options) = match args.removal.dry_run {
        true => (None, options),
        false => {
            let (removing, options) = shown_search(app, &*store, "removing", &options).await?;
            (Some(removing), options)
        }
    };
    let (mut done, mut reports) = (Outcome::Success, Vec::with_capacity(args.chats.len()));
    for name in &args.chats {
        let plan = plans.next().filter(|_| args.removal.dry_run);
        let removed = match plan {
            Some(plan) => plan,
            None => {
                // First, because finding them takes the chat.
                let found = store.history().chat(&app.chat(name)).await?;
                if let Some(chat) = found.filter(|_| args.workspace.is_named()) {
                    args.workspace.discard(&chat).await?;
                }
                let mut removed = delete_chat(&*store, &app.chat(name), None, &options).await?;
                leave_out(&args.chats, &mut removed);
                removed
            }
        };
        if app.out.is_json() {
            let deleted = removed.chats > 0 && !args.removal.dry_run;
            let (not_reached, removed) = (&not_reached, &removed);
            let chat = name.as_str();
            app.out.record(&DeleteRecord { v: 1, chat, deleted, status, removed, not_reached })?;
        } else {
            let bytes = (removed.bytes > 0).then_some(removed.bytes);
            item(app, status, &format!("chat {name}"), bytes)?;
            along(app, &removed, &["chat"])?;
        }
        if removed.found > 0 {
            done = Outcome::Findings;
        }
        reports.push(removed);
    }
    if !app.out.is_json() {
        end(app, &args.removal, &totals(&reports), &not_reached)?;
    }
    Ok(done)
}

/// Leaves out copies in the chats that go too.
fn leave_out(chats: &[String], report: &mut RemovalReport) {
    report.remaining.retain(|left| {
        let chat = match (&left.kind, &left.chat) {
            (RemainingKind::Chat, _) => left.id.as_str(),
            (_, Some(chat)) => chat.as_str(),
            (_, None) => return true,
        };
        !chats.iter().any(|other| other == chat)
    });
}
