//! `verify`: checks every invariant of the store, for all users.

use context_runtime::Store;
use context_runtime::store::{CheckReport, Finding, Maintenance};
use schemars::JsonSchema;
use serde::Serialize;

use super::{all_chats_of, all_users};
use crate::app::{App, Outcome, maintenance};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::{clean, count, holdings};

/// Check every invariant of the store.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  context verify --store sqlite:chats.db && echo sound

Checks the chats, rounds and memories of all users and changes nothing. The exit status is 1 if
something is broken.")]
pub(crate) struct Args {}

/// JSON record of `verify`: the whole report.
#[derive(Serialize, JsonSchema)]
pub(super) struct VerifyRecord<'a> {
    v: u32,
    chats: u64,
    messages: u64,
    blobs: u64,
    streams: u64,
    /// The number of trajectory rounds.
    rounds: u64,
    /// The number of memory records.
    memories: u64,
    /// The invariants that are violated. Empty for a sound store.
    #[schemars(with = "Vec<serde_json::Value>")]
    findings: &'a [Finding],
}

pub(crate) async fn run(_args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let progress = Progress::new(&app.out, "checking");
    let checker = maintenance(&*store, "verify")?;
    if progress.is_shown() {
        progress.steps("message", messages(&*store, checker).await);
    }
    let signal = progress.signal(app.interrupt(), 0);
    let report = checker.check(&signal).await?;
    let elapsed = progress.done().map(|elapsed| format!(" {elapsed}")).unwrap_or_default();
    if app.out.is_json() {
        app.out.record(&VerifyRecord {
            v: 1,
            chats: report.chats,
            messages: report.messages,
            blobs: report.blobs,
            streams: report.streams,
            rounds: report.rounds,
            memories: report.memories,
            findings: &report.findings,
        })?;
    } else {
        for finding in &report.findings {
            let head = app.out.paint(Style::Red, "broken").to_string();
            app.out.line(format_args!("{head}  {}", clean(&finding.to_string())))?;
        }
        let (style, word) = match report.findings.len() {
            0 => (Style::Green, "sound".to_owned()),
            n => (Style::Red, count(n, "problem")),
        };
        let word = app.out.paint(style, word).to_string();
        let CheckReport { chats, messages, blobs, streams, rounds, memories, .. } = report;
        let looked = holdings([chats, messages, blobs, streams, rounds, memories]);
        app.out.line(format_args!("{word}: {looked}{elapsed}"))?;
    }
    Ok(if report.findings.is_empty() { Outcome::Success } else { Outcome::Findings })
}

/// Returns the number of messages in a store, for the remaining time. `None` if the store does not
/// list its users. A listing that fails is left to the check.
async fn messages(store: &dyn Store, checker: &dyn Maintenance) -> Option<usize> {
    let mut total = 0;
    for user in all_users(checker).await.ok()? {
        let chats = all_chats_of(&user, store.history()).await.ok()?;
        total += chats.iter().map(|chat| chat.messages).sum::<u64>();
    }
    usize::try_from(total).ok()
}
