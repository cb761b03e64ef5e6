//! `memory forget`: removes memories and counts what is left.

use std::sync::Arc;

use context_runtime::memory::Facts;
use context_runtime::removal::matching_memories;
use context_runtime::{
    memory::{MemoryProvider, MemoryScope},
    store::{MemoryForget, MemoryId, MemoryRecord},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::removal_report::{RemovalArgs, confirm, counted, end, item, not_reached};
use super::records_of;
use super::source_args::SourceArgs;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::clean;

/// Forget memories, and check by reading back.
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["id", "message", "from_session", "all"]))]
#[command(after_help = "\
Examples:
  context memory forget --id 3f01d18de1ea430c0c7eae7a31f4f34b   asks first
  context memory forget --id block:user --project travel
  context memory forget --message m4 --in support-7
  context memory forget --from-session support-7 --dry-run
  context memory forget --all --project travel
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
    #[command(flatten)]
    removal: RemovalArgs,
}

/// JSON record of `memory forget`: the proof.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct MemoryForgetRecord<'a> {
    v: u32,
    /// The scope.
    #[schemars(with = "serde_json::Value")]
    scope: &'a MemoryScope,
    /// The number of records that would be removed, in a dry run.
    would_go: Option<u64>,
    /// The number of records removed.
    removed: u64,
    /// The number of matching records that were found afterwards.
    remaining: u64,
    /// The ids of the records that would be removed, in a dry run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    memories: Vec<&'a MemoryId>,
    /// `would_go` or `removed`.
    status: &'static str,
    not_reached: &'a [&'static str],
}

pub(super) async fn run(args: Args, scope: MemoryScope, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_unless(args.removal.dry_run).await?;
    let records = records_of(&*store)?;
    let forget = match args.source.source() {
        Some(source) => MemoryForget::source(scope.clone(), source),
        None if args.all => MemoryForget::Scope(scope.clone()),
        None => MemoryForget::ids(scope.clone(), args.id.iter().map(String::as_str)),
    };
    forget.check()?;
    let named = clean(&scope.to_string()).into_owned();
    // Facts know which records belong to the same fact, and forget only their own ids.
    let facts = Facts::new(Arc::clone(&store), Arc::new(app.host.clone()))?;
    let mut going = Vec::new();
    let looking = Progress::new(&app.out, "looking");
    if args.removal.asks() || args.removal.dry_run {
        let mut planned = forget.clone();
        if let MemoryForget::Ids { scope, ids } = &mut planned {
            let others = facts.statements_with(scope, ids).await?;
            ids.extend(others);
        }
        going = matching_memories(records, &planned).await?;
    }
    drop(looking);
    if args.removal.asks() && !going.is_empty() {
        let what = format!("{} of {named}", counted(going.len() as u64, "memory"));
        confirm(app, &what, ", nor the chats they came from")?;
    }
    let (mut would_go, mut removed, mut remaining) = (None, 0, 0);
    if args.removal.dry_run {
        would_go = Some(going.len() as u64);
    } else {
        app.out.outlive_reader();
        let _removing = Progress::new(&app.out, "removing");
        let mut forgotten = facts.forget(&forget).await?;
        if !args.id.is_empty() {
            forgotten = forgotten.and(records.forget_memories(&forget).await?);
        }
        (removed, remaining) = (forgotten.removed, forgotten.remaining);
    }
    let status = args.removal.status();
    let number = would_go.unwrap_or(removed);
    let not_reached = match number {
        0 => Vec::new(),
        _ => not_reached(&*store, &["the chats they came from"]),
    };
    if app.out.is_json() {
        let memories = match would_go {
            Some(_) => going.iter().map(|record| &record.id).collect(),
            None => Vec::new(),
        };
        let scope = &scope;
        app.out.record(&MemoryForgetRecord {
            v: 1,
            scope,
            would_go,
            removed,
            remaining,
            memories,
            status,
            not_reached: &not_reached,
        })?;
    } else {
        if would_go.is_some() {
            list(app, &going)?;
        }
        let mut gone = format!("{} of {named}", counted(number, "memory"));
        if would_go.is_none() {
            let style = if remaining == 0 { Style::Green } else { Style::Red };
            gone = format!("{gone}; still there: {}", app.out.paint(style, remaining));
        }
        end(app, &args.removal, &gone, &not_reached)?;
        if remaining > 0 {
            app.out.note("another writer changed the memories meanwhile; run the command again");
        } else if number == 0 && !args.id.is_empty() {
            app.out
                .note("--id searches exactly this scope; `context memory list` shows the scope of each memory");
        }
    }
    Ok(if remaining == 0 { Outcome::Success } else { Outcome::Findings })
}

fn list(app: &mut App, going: &[MemoryRecord]) -> Result<(), Failure> {
    for record in going {
        let name = format!("memory {} of {}", record.id, record.scope);
        item(app, "would go", &name, Some(record.text.len() as u64))?;
    }
    Ok(())
}
