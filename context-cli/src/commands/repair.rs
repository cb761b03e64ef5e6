//! `repair`: saves what is sound of a damaged store into a new one.

use std::path::Path;
use std::sync::Arc;

use context_runtime::Diagnostic;
use context_runtime::repair::{Loss, RepairReport, repair_url};
use context_runtime::store::{Finding, OpenMode};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::{App, Outcome, file_of};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::{clean, count, holdings};

/// Save what is sound of a damaged store into a new one.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  context repair sqlite:chats.db sqlite:saved.db && context verify --store sqlite:saved.db

The damaged store is only read; let no program write to it meanwhile. Everything of all users that
is sound is written to the new store, which must be empty, and everything that is lost is named. A
branch with a lost message ends in front of it; what comes after it is kept on a branch of its own,
NAME-rest-1. The exit status is 1 if something is lost or broken.

With a store that does not list its users, name them with --user. Commit keys, leases, earlier
versions of fragments and the log of branches are not saved, and of PostgreSQL and Redis not the
vectors of memories.")]
pub(crate) struct Args {
    /// The damaged store
    #[arg(value_name = "DAMAGED")]
    damaged: String,
    /// The new store
    #[arg(value_name = "NEW")]
    new: String,
}

/// JSON record of `repair`: what was saved, and what is lost.
#[derive(Serialize, JsonSchema)]
pub(super) struct RepairRecord<'a> {
    v: u32,
    chats: u64,
    messages: u64,
    branches: u64,
    checkpoints: u64,
    fragments: u64,
    blobs: u64,
    streams: u64,
    /// The number of trajectory rounds.
    rounds: u64,
    /// The number of memory records.
    memories: u64,
    /// Each loss: its kind, user, chat and name, as far as they are known, and the reason.
    #[schemars(with = "Vec<serde_json::Value>")]
    losses: &'a [Loss],
    /// The differences of the new store that keep it sound.
    #[schemars(with = "Vec<serde_json::Value>")]
    changes: &'a [Diagnostic],
    /// The findings of the check of the damaged store, if it was read as a sound one is.
    #[schemars(with = "Vec<serde_json::Value>")]
    findings: &'a [Finding],
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    if [&args.damaged, &args.new].iter().any(|name| name.is_empty()) {
        return Err(Failure::Usage("DAMAGED and NEW must not be empty".into()));
    }
    let damaged = app.url_of(&args.damaged);
    // No new store is left behind for a damaged one that does not exist.
    if file_of(&damaged).is_some_and(|file| !Path::new(file).exists()) {
        return Err(Failure::NoStore { url: damaged });
    }
    let new = app.open(&args.new, OpenMode::Create).await?;
    app.out.outlive_reader();
    let progress = Progress::new(&app.out, "saving");
    let signal = progress.signal(app.interrupt(), 0);
    let users: Vec<_> = app.users().collect();
    let report = repair_url(&app.stores(), &damaged, Arc::clone(&new), &users, &signal).await?;
    let elapsed = progress.done().map(|elapsed| format!(" {elapsed}")).unwrap_or_default();
    print(&report, &elapsed, app)?;
    let is_whole = report.losses.is_empty() && report.findings.is_empty();
    Ok(if is_whole { Outcome::Success } else { Outcome::Findings })
}

fn print(report: &RepairReport, elapsed: &str, app: &mut App) -> Result<(), Failure> {
    let RepairReport { chats, messages, blobs, streams, rounds, memories, .. } = *report;
    if app.out.is_json() {
        return app.out.record(&RepairRecord {
            v: 1,
            chats,
            messages,
            branches: report.branches,
            checkpoints: report.checkpoints,
            fragments: report.fragments,
            blobs,
            streams,
            rounds,
            memories,
            losses: &report.losses,
            changes: &report.changes,
            findings: &report.findings,
        });
    }
    for loss in &report.losses {
        let head = app.out.paint(Style::Red, "lost").to_string();
        app.out.line(format_args!("{head}  {}", clean(&loss.to_string())))?;
    }
    for change in &report.changes {
        let head = app.out.paint(Style::Yellow, "changed").to_string();
        app.out.line(format_args!("{head}  {}", clean(&change.to_string())))?;
    }
    for finding in &report.findings {
        let head = app.out.paint(Style::Red, "broken").to_string();
        app.out.line(format_args!("{head}  {finding}"))?;
    }
    let saved = app.out.paint(Style::Green, "saved").to_string();
    let held = holdings([chats, messages, blobs, streams, rounds, memories]);
    let lost = match (report.losses.len(), report.findings.len()) {
        (0, 0) => String::from("nothing is lost"),
        (0, n) => count(n, "finding"),
        (n, _) => count(n, "loss"),
    };
    app.out.line(format_args!("{saved}: {held}; {lost}{elapsed}"))
}
