//! `memory stats`: counts memories, scope by scope.

use std::collections::BTreeMap;

use bytesize::ByteSize;
use context_runtime::memory::{MEMORY_USE, MemoryScope};
use schemars::JsonSchema;
use serde::Serialize;

use super::{records_of, stats_within};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::table::{Column, Table};
use crate::text::{clean, count, grouped};

/// Count memories by scope.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context memory stats                       all scopes of the user
  context memory stats --project travel      those within a project
  context memory stats --json

Bytes are those of the texts, without indexes and vectors. With --json: one record per scope,
then one for the total.")]
pub(super) struct Args {}

/// JSON record of `memory stats`: scopes, then the total.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(in crate::commands) enum MemoryStatsRecord<'a> {
    /// One exact scope.
    Scope {
        v: u32,
        #[schemars(with = "serde_json::Value")]
        scope: &'a MemoryScope,
        records: u64,
        kinds: &'a BTreeMap<String, u64>,
        vectors: u64,
        bytes: u64,
    },
    /// The total.
    Total {
        v: u32,
        scopes: usize,
        records: u64,
        kinds: &'a BTreeMap<String, u64>,
        vectors: u64,
        bytes: u64,
    },
}

pub(super) async fn run(
    _args: &Args,
    scope: &MemoryScope,
    app: &mut App,
) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let mut all = stats_within(records_of(&*store)?, scope).await?;
    // A scope of a session that has nothing but the log of uses is not worth a line.
    all.retain(|stats| stats.kinds.keys().any(|kind| kind != MEMORY_USE));
    all.sort_by_cached_key(|stats| {
        let MemoryScope { project, agent, session, .. } = &stats.scope;
        let names = [project.is_some(), agent.is_some(), session.is_some()];
        (names.into_iter().filter(|named| *named).count(), stats.scope.key())
    });
    let mut table = Table::new([
        Column::id("SCOPE"),
        Column::text("MEMORIES"),
        Column::number("VECTORS"),
        Column::number("SIZE"),
    ]);
    let (mut kinds, mut vectors, mut bytes) = (BTreeMap::<String, u64>::new(), 0, 0);
    for stats in &all {
        stats.kinds.iter().for_each(|(kind, n)| *kinds.entry(kind.clone()).or_default() += n);
        vectors += stats.vectors;
        bytes += stats.bytes;
        if app.out.is_json() {
            app.out.record(&MemoryStatsRecord::Scope {
                v: 1,
                scope: &stats.scope,
                records: stats.records(),
                kinds: &stats.kinds,
                vectors: stats.vectors,
                bytes: stats.bytes,
            })?;
        } else {
            table.row([
                stats.scope.to_string().into(),
                kinds_of(&stats.kinds).into(),
                grouped(stats.vectors).into(),
                ByteSize(stats.bytes).to_string().into(),
            ]);
        }
    }
    table.write(&mut app.out)?;
    let records = kinds.values().sum();
    if app.out.is_json() {
        app.out.record(&MemoryStatsRecord::Total {
            v: 1,
            scopes: all.len(),
            records,
            kinds: &kinds,
            vectors,
            bytes,
        })?;
    } else if all.is_empty() {
        app.out.note(format_args!("no memories of {}", clean(&scope.to_string())));
    } else {
        let scopes = count(all.len(), "scope");
        app.out.line(format_args!("{scopes} in all: {}", words(&kinds, vectors, bytes)))?;
    }
    Ok(Outcome::Success)
}

fn kinds_of(kinds: &BTreeMap<String, u64>) -> String {
    let kinds = kinds
        .iter()
        .map(|(kind, n)| count(usize::try_from(*n).unwrap_or(usize::MAX), &clean(kind)));
    kinds.collect::<Vec<_>>().join(", ")
}

/// Returns a summary, for example `12 episodes, 3 facts · 2 vectors · 4.5 kB`.
fn words(kinds: &BTreeMap<String, u64>, vectors: u64, bytes: u64) -> String {
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut facts = vec![kinds_of(kinds)];
    if vectors > 0 {
        facts.push(count(number(vectors), "vector"));
    }
    facts.push(ByteSize(bytes).to_string());
    facts.join(" · ")
}
