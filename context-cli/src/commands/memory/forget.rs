//! `memory forget`: removes memories and counts what is left.

use std::sync::Arc;

use context_runtime::memory::Facts;
use context_runtime::{
    limits,
    memory::{MemoryProvider, MemoryScope},
    store::{MemoryForget, MemoryList, MemoryRecordStore, PageWalk},
};
use serde::Serialize;

use super::source_args::SourceArgs;
use super::{records_of, stats_within};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, count};

/// Forget memories, and check by reading back.
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["id", "message", "from_session", "all"]))]
#[command(after_help = "\
Examples:
  context memory forget --id 3f01d18de1ea430c0c7eae7a31f4f34b
  context memory forget --id block:user --project travel
  context memory forget --message m4 --in support-7
  context memory forget --from-session support-7 --dry-run
  context memory forget --all --project travel     asks first
  context memory forget --all --yes --json         in a script; the record is the proof

--id removes memories of exactly the named scope (`context memory list` shows the scope of each); a
fact is removed with all its records there. The other options remove everything within the scope:
for a user alone, whatever scope it belongs to. A memory that was forgotten by id or source stays
forgotten, also if the same message is added again; --all removes that mark too. Then the store is
searched. The exit status is 1 if records remain because another program wrote in the meantime.
Chats are not changed.")]
pub(super) struct Args {
    /// These memories
    #[arg(long, value_name = "ID", num_args = 1..)]
    id: Vec<String>,
    #[command(flatten)]
    source: SourceArgs,
    /// Everything within the scope
    #[arg(long)]
    all: bool,
    /// Do not ask for confirmation
    #[arg(long, requires = "all")]
    yes: bool,
    /// Only show how many records would be removed
    #[arg(long, conflicts_with = "id")]
    dry_run: bool,
}

/// JSON record of `memory forget`: the proof.
#[derive(Serialize)]
struct MemoryForgetRecord<'a> {
    v: u32,
    /// The scope.
    scope: &'a MemoryScope,
    /// The number of records that would be removed, in a dry run.
    would_go: Option<u64>,
    /// The number of records removed.
    removed: u64,
    /// The number of matching records that were found afterwards.
    remaining: u64,
}

pub(super) async fn run(args: Args, scope: MemoryScope, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_unless(args.dry_run).await?;
    let records = records_of(&*store)?;
    let forget = match args.source.source() {
        Some(source) => MemoryForget::source(scope.clone(), source),
        None if args.all => MemoryForget::Scope(scope.clone()),
        None => MemoryForget::ids(scope.clone(), args.id.iter().map(String::as_str)),
    };
    forget.check()?;
    let named = clean(&scope.to_string()).into_owned();
    if args.dry_run {
        let would_go = would_go(records, &forget).await?;
        if app.out.is_json() {
            let proof = MemoryForgetRecord {
                v: 1,
                scope: &scope,
                would_go: Some(would_go),
                removed: 0,
                remaining: 0,
            };
            app.out.record(&proof)?;
        } else {
            let head = app.out.paint(Style::Bold, "would go").to_string();
            app.out.line(format_args!(
                "{head}: {} of {named}; nothing was changed",
                memories(would_go)
            ))?;
        }
        return Ok(Outcome::Success);
    }
    if args.all && !args.yes {
        let would_go = would_go(records, &forget).await?;
        app.confirm(&format!("forget {} of {named}", memories(would_go)))?;
    }
    app.out.outlive_reader();
    // Facts know which records belong to the same fact, and forget only their own ids.
    let facts = Facts::new(Arc::clone(&store), Arc::new(app.host.clone()))?;
    let mut forgotten = facts.forget(&forget).await?;
    if !args.id.is_empty() {
        forgotten = forgotten.and(records.forget_memories(&forget).await?);
    }
    let (removed, remaining) = (forgotten.removed, forgotten.remaining);
    if app.out.is_json() {
        app.out.record(&MemoryForgetRecord {
            v: 1,
            scope: &scope,
            would_go: None,
            removed,
            remaining,
        })?;
    } else {
        let done = app.out.paint(Style::Green, "forgot").to_string();
        let style = if remaining == 0 { Style::Green } else { Style::Red };
        let left = app.out.paint(style, remaining).to_string();
        app.out.line(format_args!("{done} {} of {named}; remaining: {left}", memories(removed)))?;
        if remaining > 0 {
            app.out.note("another writer changed the memories meanwhile; run the command again");
        } else if removed == 0 && !args.id.is_empty() {
            app.out
                .note("--id searches exactly this scope; `context memory list` shows the scope of each memory");
        }
    }
    Ok(if remaining == 0 { Outcome::Success } else { Outcome::Findings })
}

fn memories(n: u64) -> String {
    count(usize::try_from(n).unwrap_or(usize::MAX), "memory")
}

/// Returns the number of records that would be removed.
async fn would_go(records: &dyn MemoryRecordStore, forget: &MemoryForget) -> Result<u64, Failure> {
    let within = stats_within(records, forget.scope()).await?;
    let MemoryForget::Source { source, .. } = forget else {
        return Ok(within.iter().map(context_runtime::store::MemoryStats::records).sum());
    };
    let scopes: Vec<_> = within.into_iter().map(|stats| stats.scope).collect();
    let mut found = 0;
    for scopes in scopes.chunks(limits::MAX_MEMORY_SCOPES) {
        let mut list = MemoryList::new(scopes.to_vec(), limits::MAX_PAGE);
        list.source = Some(source.clone());
        let mut walk = PageWalk::new("list_memories", "memory");
        loop {
            let page = records.list_memories(&list).await?;
            let next = walk.next(&page)?;
            found += page.items.len() as u64;
            match next {
                Some(next) => list.after = Some(next),
                None => break,
            }
        }
    }
    Ok(found)
}
