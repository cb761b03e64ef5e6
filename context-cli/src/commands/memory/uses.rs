//! `memory uses`: the turns in which a memory was shown to a model.

use context_runtime::memory::MemoryScope;
use schemars::JsonSchema;
use serde::Serialize;

use super::quarantine::review_of;
use super::{episodic, records_of};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::table::{Column, Table};
use crate::text::{clean, time};

/// List the turns in which a memory was used, newest first.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context memory uses 3f01d18de1ea430c0c7eae7a31f4f34b
  context memory uses block:user --project travel
  context memory uses 3f01d18de1ea430c0c7eae7a31f4f34b --json

A runtime records which memories are in the requests of each turn. The list has at most 1000 turns,
also of a memory that was forgotten by its id. --project and --agent name the scope of the memory,
which `context memory list` shows. A turn is usually named by the message of its question:
`context log SESSION` shows the answer behind it.")]
pub(super) struct Args {
    /// The memory
    #[arg(value_name = "ID")]
    id: String,
}

/// JSON record of `memory uses`.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct MemoryUseRecord<'a> {
    v: u32,
    session: &'a str,
    /// The id of the turn, usually that of the question.
    turn: &'a str,
    at: String,
}

pub(super) async fn run(args: Args, scope: MemoryScope, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    records_of(&*store)?;
    let memory = episodic(&store, &scope)?;
    let uses = review_of(&memory)?.uses(&scope, &args.id.as_str().into()).await?;
    let mut table =
        Table::new([Column::id("SESSION"), Column::id("TURN"), Column::time("RECALLED")]);
    for seen in &uses {
        let (session, turn) = (seen.session.as_str(), seen.turn.as_str());
        if app.out.is_json() {
            app.out.record(&MemoryUseRecord { v: 1, session, turn, at: time(seen.at) })?;
        } else {
            table.row([session.into(), turn.into(), app.out.when(seen.at).into()]);
        }
    }
    table.write(&mut app.out)?;
    if uses.is_empty() {
        app.out.note(format_args!(
            "no use of this memory of {} is recorded",
            clean(&scope.to_string())
        ));
    }
    Ok(Outcome::Success)
}
