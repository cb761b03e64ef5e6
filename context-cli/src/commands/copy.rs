//! `copy`: copies a chat with its whole graph under another name or to another store, or all chats
//! from store to store.

mod copy_progress;
pub(super) mod stores;

use std::sync::Arc;

use context_runtime::transfer::{self, LeftBehind};
use context_runtime::{Diagnostic, store::OpenMode};
use schemars::JsonSchema;
use serde::Serialize;

use super::leave_behind::LeaveBehindArgs;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::{clean, count};

/// Copy a chat, or all chats to another store
#[derive(clap::Args, Debug)]
#[command(after_help = "\
FROM and TO are two names of chats, or two stores (URLs). Between stores, all chats of the user are
copied, or those that --chat names. --user may be given more than once; --all-users copies the chats
of all users.

Examples:
  context copy support-7 support-7-before
  context copy support-7 support-7 --to sqlite:archive.db
  context copy sqlite:context.db postgres://ctx@db/chats --user ada --user eve
  context copy sqlite:context.db postgres://ctx@db/chats --all-users
  context copy sqlite:context.db sqlite:archive.db --chat support-7 --dry-run

A copy of a chat includes its branches, checkpoints, fragments, revisions, blobs, ids and times, but
no recorded runs (rounds), memories and streams. If the session of the chat's name has any of these,
or the user, when all chats are copied, nothing is copied unless --without names them. Earlier
versions of fragments stay behind too, and are reported. Between
stores, each copied chat is read back and compared with its source. Ctrl-C stops after the current
chat. To continue, run the same command again: equal chats are not sent again, an incomplete copy is
written again, and a chat that differs is reported, is not changed and makes the exit status 1.")]
pub(crate) struct Args {
    /// The chat, or the source store
    from: String,
    /// The name of the copy, or the target store
    to: String,
    /// The target store for the copy of a chat [default: the same]
    #[arg(long = "to", value_name = "URL")]
    other: Option<String>,
    /// Between stores: only this chat; may be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "other")]
    chat: Vec<String>,
    /// Between stores: the chats of all users, regardless of --user
    #[arg(long, conflicts_with_all = ["other", "chat"])]
    all_users: bool,
    /// Between stores: do not read the copies back
    #[arg(long, conflicts_with = "other")]
    no_verify: bool,
    /// Between stores: only show the chats that would be copied
    #[arg(long, conflicts_with = "other")]
    dry_run: bool,
    #[command(flatten)]
    may_stay: LeaveBehindArgs,
}

/// JSON record of `copy` of a chat: the new chat.
#[derive(Serialize, JsonSchema)]
pub(super) struct CopyRecord<'a> {
    v: u32,
    /// The original chat.
    from: &'a str,
    /// The new chat.
    chat: &'a str,
    messages: u64,
    branches: u64,
    /// Inconsistencies, and how they were resolved.
    #[schemars(with = "Vec<serde_json::Value>")]
    diagnostics: &'a [Diagnostic],
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    // With `--to`, the names are chats whatever they look like.
    let stores =
        args.other.is_none() && [&args.from, &args.to].into_iter().any(|name| app.is_store(name));
    if stores {
        let pair = app.is_store(&args.from) && app.is_store(&args.to);
        let usage = "FROM and TO must both be stores or both be chats; --to names the target store of a copied chat";
        return if pair {
            stores::run(&args, app).await
        } else {
            Err(Failure::Usage(usage.into()))
        };
    }
    if !args.chat.is_empty() || args.all_users || args.no_verify || args.dry_run {
        let usage = "--chat, --all-users, --no-verify and --dry-run are for copies between stores";
        return Err(Failure::Usage(usage.into()));
    }
    app.one_user()?;
    chat(&args, app).await
}

async fn chat(args: &Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = match &args.other {
        None => app.store_to_write().await?,
        Some(_) => app.store_to_read().await?,
    };
    let (from, to) = (app.chat(&args.from), app.chat(&args.to));
    let other = match &args.other {
        // Within one store, the user's rounds and memories remain available.
        None => Arc::clone(&store),
        Some(url) => {
            args.may_stay.check(app, &LeftBehind::of_chat(&*store, &from).await?)?;
            app.open(url, OpenMode::Create).await?
        }
    };
    let total = store.history().chat_size(&from).await.map_or(0, |size| size.messages);
    let working = Progress::new(&app.out, "copying");
    working.steps("message", usize::try_from(total).ok().filter(|total| *total > 0));
    let signal = working.signal(app.interrupt(), 0);
    let copied = transfer::copy_chat(&*store, &from, &*other, &to, &signal).await?;
    let elapsed = working.done().map(|elapsed| format!(", {elapsed}")).unwrap_or_default();
    if app.out.is_json() {
        app.out.record(&CopyRecord {
            v: 1,
            from: &args.from,
            chat: &args.to,
            messages: copied.messages,
            branches: copied.branches,
            diagnostics: &copied.diagnostics,
        })?;
        return Ok(Outcome::Success);
    }
    app.out.diagnostics(&args.from, &copied.diagnostics);
    let done = app.out.paint(Style::Green, "copied").to_string();
    let size = [(copied.messages, "message"), (copied.branches, "branch")];
    let [messages, branches] = size.map(|(n, what)| count(n as usize, what));
    app.out
        .line(format_args!(
            "{done} {} to {}: {messages}, {branches}{elapsed}",
            clean(&args.from),
            clean(&args.to)
        ))
        .map(|()| Outcome::Success)
}
