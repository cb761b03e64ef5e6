//! `erase`: erases all data of a user and counts what is left.

use context_runtime::{
    Store, UserId, limits,
    memory::MemoryScope,
    removal::{RemovalOptions, RemovalReport, erase_user},
    store::{ChatQuery, HistoryStore, MemoryStats, PageWalk},
};
use serde::Serialize;

use super::memory::stats_within;
use crate::app::{App, Outcome, maintenance};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::{clean, count, holdings};

/// Erase everything of a user.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context erase ada                          asks first
  context erase ada --yes --json             in a script; the record is the proof

All chats, rounds and memories of the user are erased, with every trace the store can clear in its
files: free pages, logs, indexes. Then the whole store is searched for the user's records. The exit
status is 1 if any remain because another program wrote in the meantime. After an interrupt, run the
command again; what was erased until then stays erased.")]
pub(crate) struct Args {
    /// The user
    #[arg(value_name = "USER")]
    name: String,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// JSON record of `erase`: the proof.
#[derive(Serialize)]
struct EraseRecord<'a> {
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
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_write().await?;
    let _can_erase = maintenance(&*store, "erase_user")?;
    let user = UserId::from(args.name.as_str());
    if !args.yes {
        let (chats, messages) = chats_and_messages(store.history(), &user).await?;
        let [chats, messages] = [count(chats, "chat"), count(messages, "message")];
        let memories = memories(&*store, &user).await?;
        app.confirm(&format!(
            "erase all of user {}, {chats} with {messages}{memories}",
            clean(&args.name)
        ))?;
    }
    let working = Progress::spinner(&app.out, "erasing");
    let options = RemovalOptions::at(app.now()).cancel(app.interrupt());
    let erased = erase_user(&*store, &user, &options).await?;
    working.done();
    let RemovalReport {
        chats, messages, blobs, streams, rounds, memories, found: remaining, ..
    } = erased;
    if app.out.is_json() {
        let user = args.name.as_str();
        app.out.record(&EraseRecord {
            v: 1,
            user,
            chats,
            messages,
            blobs,
            streams,
            rounds,
            memories,
            remaining,
        })?;
    } else {
        let done = app.out.paint(Style::Green, "erased").to_string();
        let gone = holdings([chats, messages, blobs, streams, rounds, memories]);
        let style = if remaining == 0 { Style::Green } else { Style::Red };
        let left = app.out.paint(style, remaining).to_string();
        let user = clean(&args.name);
        app.out.line(format_args!("{done} user {user}: {gone}; remaining: {left}"))?;
        if remaining > 0 {
            app.out.note("another writer added data of this user meanwhile; run the command again");
        }
    }
    Ok(if remaining == 0 { Outcome::Success } else { Outcome::Findings })
}

/// Returns the numbers of chats and messages of a user.
async fn chats_and_messages(
    history: &dyn HistoryStore,
    user: &UserId,
) -> Result<(usize, usize), Failure> {
    let mut query = ChatQuery { limit: limits::MAX_PAGE, ..ChatQuery::new(user.clone()) };
    let (mut chats, mut messages) = (0, 0);
    let mut walk = PageWalk::new("list_chats", "chat");
    loop {
        let page = history.list_chats(&query).await?;
        let next = walk.next(&page)?;
        chats += page.items.len();
        messages += page.items.iter().map(|chat| chat.messages as usize).sum::<usize>();
        query.after = next;
        if query.after.is_none() {
            return Ok((chats, messages));
        }
    }
}

/// Describes the number of a user's memories. Empty if there are none.
async fn memories(store: &dyn Store, user: &UserId) -> Result<String, Failure> {
    let Some(records) = store.memories() else { return Ok(String::new()) };
    let within = stats_within(records, &MemoryScope::new(user.clone())).await?;
    let memories: u64 = within.iter().map(MemoryStats::records).sum();
    Ok(match usize::try_from(memories).unwrap_or(usize::MAX) {
        0 => String::new(),
        n => format!(" and {}", count(n, "memory")),
    })
}
