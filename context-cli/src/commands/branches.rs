//! `branches`: lists, switches, renames and deletes the branches of a chat, and shows their log.

pub(super) mod ref_log;

use context_runtime::removal::{RemovalOptions, RemovalReport, delete_branch};
use context_runtime::{BranchName, Error, Store};
use schemars::JsonSchema;
use serde::Serialize;

use super::removal_report::{RemovalArgs, along, confirm, end, item, not_reached, totals};
use super::workspace::WorkspaceArgs;
use super::{existing_chat, moved_both};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::table::{Column, Table};
use crate::text::{clean, grouped, short_id, time};

/// List, switch, rename and delete the branches of a chat, and show what became of them.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context branches support-7                 list them; the star marks the active one
  context branches support-7 --switch main
  context branches support-7 --rename main-v2 cheaper
  context branches support-7 --delete cheaper            asks if messages go with it
  context branches support-7 --delete cheaper --dry-run
  context branches support-7 --log           what became of branches and checkpoints

With --workspace, --switch also brings back the files of that branch, if there is a snapshot of them.
Deleting a branch also deletes the messages that no other branch and no checkpoint reaches, but not
the rounds, memories, blobs and streams of these messages: `context redact` removes those. The
active branch cannot be deleted. The log has the newest 1,024 changes, and how to bring back what
was deleted, if its newest message is still stored.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// Make this branch the active one
    #[arg(long, value_name = "NAME", group = "change")]
    switch: Option<String>,
    /// Give a branch another name
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], group = "change")]
    rename: Option<Vec<String>>,
    /// Delete this branch
    #[arg(long, value_name = "NAME", group = "change")]
    delete: Option<String>,
    /// Show the changes of branches and checkpoints, oldest first
    #[arg(long, group = "change")]
    log: bool,
    /// Only show what --delete would remove
    #[arg(long, requires = "delete")]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// JSON record of `branches`: one branch.
#[derive(Serialize, JsonSchema)]
pub(super) struct BranchRecord<'a> {
    v: u32,
    branch: &'a str,
    /// The newest message of the branch.
    head: Option<&'a str>,
    messages: u64,
    /// Whether this is the active branch.
    active: bool,
    created_at: String,
}

/// JSON record of `branches --rename`.
#[derive(Serialize, JsonSchema)]
pub(super) struct RenamedRecord<'a> {
    v: u32,
    chat: &'a str,
    /// The old name.
    from: &'a str,
    /// The new name.
    branch: &'a str,
}

/// JSON record of `branches --delete`.
#[derive(Serialize, JsonSchema)]
pub(super) struct DeletedRecord<'a> {
    v: u32,
    chat: &'a str,
    /// The deleted branch.
    branch: &'a str,
    /// The number of messages deleted with the branch because no other branch reaches them.
    messages: u64,
    /// `would_go` or `removed`.
    status: &'static str,
    #[schemars(with = "serde_json::Value")]
    removed: &'a RemovalReport,
    not_reached: &'a [&'static str],
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let chat = args.chat.as_str();
    match (args.switch, args.rename.as_deref(), args.delete) {
        (Some(branch), ..) => {
            let store = app.store_to_write().await?;
            let mut engine = args.workspace.engine(app, store, chat).await?;
            let result = engine.switch_branch(BranchName::from(branch)).await?;
            moved_both(&mut app.out, chat, &result, &args.workspace)
        }
        (_, Some([from, to]), _) => rename(app, chat, from, to).await,
        (_, _, Some(branch)) => {
            let removal = RemovalArgs { dry_run: args.dry_run, yes: args.yes };
            delete(app, chat, &branch, &removal).await
        }
        _ if args.log => ref_log::list(app, chat).await,
        _ => list(app, chat).await,
    }
}

async fn list(app: &mut App, chat: &str) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let branches = store.history().branches(&app.chat(chat)).await?;
    let mut table = Table::new([
        Column::word("").style(Style::Green),
        Column::id("BRANCH"),
        Column::number("MESSAGES"),
        Column::word("HEAD").style(Style::Yellow),
        Column::time("CREATED"),
    ]);
    for branch in &branches {
        if app.out.is_json() {
            app.out.record(&BranchRecord {
                v: 1,
                branch: branch.name.as_str(),
                head: branch.head.as_ref().map(AsRef::as_ref),
                messages: branch.length,
                active: branch.active,
                created_at: time(branch.created_at),
            })?;
            continue;
        }
        table.row([
            if branch.active { "*" } else { "" }.into(),
            branch.name.as_str().into(),
            grouped(branch.length).into(),
            branch.head.as_ref().map(short_id).unwrap_or_default().into(),
            app.out.when(branch.created_at).into(),
        ]);
    }
    table.write(&mut app.out)?;
    Ok(Outcome::Success)
}

async fn rename(app: &mut App, chat: &str, from: &str, to: &str) -> Result<Outcome, Failure> {
    let store = app.store_to_write().await?;
    let (old, new) = (BranchName::from(from), BranchName::from(to));
    store.history().rename_branch(&app.chat(chat), &old, &new, app.now()).await?;
    if app.out.is_json() {
        app.out.record(&RenamedRecord { v: 1, chat, from, branch: to })?;
    } else {
        let now = app.out.paint(Style::Bold, clean(to)).to_string();
        app.out.line(format_args!("{}: {} is now {now}", clean(chat), clean(from)))?;
    }
    Ok(Outcome::Success)
}

async fn delete(
    app: &mut App,
    chat: &str,
    branch: &str,
    removal: &RemovalArgs,
) -> Result<Outcome, Failure> {
    let store = app.store_unless(removal.dry_run).await?;
    let place = app.chat(chat);
    existing_chat(store.history(), &place).await?;
    let name = BranchName::from(branch);
    let branches = store.history().branches(&place).await?;
    let found = branches.iter().find(|found| found.name == name);
    if found.ok_or_else(|| Error::not_found("delete_branch", "branch", &name))?.active {
        return Err(Failure::ActiveBranch { branch: branch.to_owned() });
    }
    let options = RemovalOptions::at(app.now());
    if removal.asks() {
        let plan = delete_branch(&*store, &place, &name, &options.clone().dry_run(true)).await?;
        // A branch without messages of its own comes back with `context fork --at`.
        if plan.messages > 0 {
            confirm(app, &totals([&plan]), OF_MESSAGES)?;
        }
    }
    let options = options.dry_run(removal.dry_run);
    let report = delete_branch(&*store, &place, &name, &options).await?;
    if app.out.is_json() {
        let (messages, status) = (report.messages, removal.status());
        app.out.record(&DeletedRecord {
            v: 1,
            chat,
            branch,
            messages,
            status,
            removed: &report,
            not_reached: &of_messages(&*store, &report),
        })?;
        return Ok(Outcome::Success);
    }
    show_references(app, removal, &*store, &report, &format!("branch {branch} of chat {chat}"))
}

/// The end of a question, with the data that stays when messages go that nothing else reaches.
pub(super) const OF_MESSAGES: &str = ", nor rounds, memories, blobs and streams of the messages";

/// Reports a deleted branch or checkpoint.
pub(super) fn show_references(
    app: &mut App,
    removal: &RemovalArgs,
    store: &dyn Store,
    report: &RemovalReport,
    name: &str,
) -> Result<Outcome, Failure> {
    item(app, removal.status(), name, None)?;
    along(app, report, &["branch", "checkpoint"])?;
    end(app, removal, &totals([report]), &of_messages(store, report))?;
    Ok(Outcome::Success)
}

/// The data that is not reached when messages go with a branch or checkpoint.
pub(super) fn of_messages(store: &dyn Store, report: &RemovalReport) -> Vec<&'static str> {
    match report.messages {
        0 => Vec::new(),
        _ => not_reached(store, &["rounds, memories, blobs and streams of the messages"]),
    }
}
