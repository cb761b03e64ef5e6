//! `erase`: erases all data of a user and counts what is left.

use context_runtime::removal::{Remaining, RemovalItem, RemovalOptions, RemovalReport, erase_user};
use context_runtime::store::Maintenance;
use context_runtime::{Store, UserId};
use schemars::JsonSchema;
use serde::Serialize;

use super::removal_report::{
    RemovalArgs, SEARCHED, confirm, end, item, not_reached, shown, still_there,
};
use super::{all_chats_of, all_users};
use crate::app::{App, Outcome, maintenance};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, holdings};

/// Erase everything of a user.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context erase ada                          asks first
  context erase ada --dry-run                what would go, and what others have of it
  context erase ada --yes --json             in a script; the record is the proof

All chats, rounds and memories of the user are erased, with every trace the store can clear in its
files: free pages, logs, indexes. Then the whole store is searched for the user's records. The exit
status is 1 if any remain because another program wrote in the meantime. After an interrupt, run the
command again; what was erased until then stays erased.

With --dry-run, the data of all other users is searched for what the user said, was answered, and
had from tools, and every place that has the same words is listed. The erasure itself does not
search: the data of all users may be far more than that of one.

Not reached: backups, exports, logs, local files of trajectories, snapshots of a workspace, and what
other users have of this user's words.")]
pub(crate) struct Args {
    /// The user
    #[arg(value_name = "USER")]
    name: String,
    #[command(flatten)]
    removal: RemovalArgs,
}

/// JSON record of `erase`: the proof.
#[derive(Serialize, JsonSchema)]
pub(super) struct EraseRecord<'a> {
    v: u32,
    /// The user.
    user: &'a str,
    /// The number of chats erased.
    chats: u64,
    /// Number of erased messages, on all branches.
    messages: u64,
    /// The number of blobs erased.
    blobs: u64,
    /// The number of streams erased.
    streams: u64,
    /// Number of erased trajectory rounds.
    rounds: u64,
    /// Number of erased memory records.
    memories: u64,
    /// The number of records of this user that were found afterwards.
    remaining: u64,
    /// `would_go` or `removed`.
    status: &'static str,
    /// In a dry run, the items that would go.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(with = "Vec<serde_json::Value>")]
    items: &'a [RemovalItem],
    /// In a dry run, the items of other users that have the same words. Absent if they were not
    /// searched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<serde_json::Value>>")]
    copies: Option<&'a [Remaining]>,
    not_reached: &'a [&'static str],
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_unless(args.removal.dry_run).await?;
    let erases = maintenance(&*store, "erase_user")?;
    let user = UserId::from(args.name.as_str());
    let options = RemovalOptions::at(app.now()).find_copies(args.removal.dry_run);
    if args.removal.asks() {
        let (looking, looks) = shown(app, "looking", &options);
        let plan = erase_user(&*store, &user, &looks.dry_run(true)).await?;
        drop(looking);
        confirm(app, &format!("all of user {}, {}", clean(&args.name), held(&plan)), "")?;
    }
    let dry_run = args.removal.dry_run;
    let (working, options) = shown(app, if dry_run { "looking" } else { "erasing" }, &options);
    if dry_run && working.is_shown() {
        working.steps("chat", all_chats_of(&user, store.history()).await?.len());
        // A store that does not list its users is not searched.
        let others = chats_of_others(&*store, erases, &user).await.unwrap_or_default();
        working.expect(SEARCHED, others);
    }
    let erased = erase_user(&*store, &user, &options.dry_run(dry_run)).await?;
    drop(working);
    let mut not_reached = match (erased.searched, dry_run) {
        (true, _) => Vec::new(),
        (false, true) => vec!["other users, whom this store does not list"],
        (false, false) => vec!["the same words in data of other users, which --dry-run lists"],
    };
    not_reached.extend(["local files of trajectories", "snapshots of a workspace"]);
    // An erasure clears the unused space of the files too.
    not_reached.extend(self::not_reached(&*store, &[]));
    not_reached.retain(|what| !what.contains("vacuum"));
    let remaining = erased.found;
    if app.out.is_json() {
        app.out.record(&EraseRecord {
            v: 1,
            user: &args.name,
            chats: erased.chats,
            messages: erased.messages,
            blobs: erased.blobs,
            streams: erased.streams,
            rounds: erased.rounds,
            memories: erased.memories,
            remaining,
            status: args.removal.status(),
            items: &erased.items,
            copies: erased.searched.then_some(&*erased.remaining),
            not_reached: &not_reached,
        })?;
    } else {
        for going in &erased.items {
            item(app, "would go", &going.to_string(), going.bytes)?;
        }
        still_there(app, &erased)?;
        let mut gone = format!("user {}: {}", clean(&args.name), held(&erased));
        if !args.removal.dry_run {
            let style = if remaining == 0 { Style::Green } else { Style::Red };
            let left = app.out.paint(style, remaining).to_string();
            gone = format!("{gone}; still there: {left}");
        }
        end(app, &args.removal, &gone, &not_reached)?;
        if remaining > 0 {
            app.out.note("another writer added data of this user meanwhile; run the command again");
        }
    }
    Ok(if remaining == 0 { Outcome::Success } else { Outcome::Findings })
}

/// Returns the number of chats of all other users.
async fn chats_of_others(
    store: &dyn Store,
    maintenance: &dyn Maintenance,
    user: &UserId,
) -> Result<usize, Failure> {
    let mut chats = 0;
    for other in all_users(maintenance).await?.iter().filter(|other| *other != user) {
        chats += all_chats_of(other, store.history()).await?.len();
    }
    Ok(chats)
}

/// Lists the numbers of what a user has.
fn held(report: &RemovalReport) -> String {
    let RemovalReport { chats, messages, blobs, streams, rounds, memories, .. } = *report;
    holdings([chats, messages, blobs, streams, rounds, memories])
}
