//! `trajectory list`: lists sessions and their rounds.

use context_runtime::trajectory::{RoundHead, RoundState};
use schemars::JsonSchema;
use serde::Serialize;

use super::all_rounds;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::table::{Column, Table};
use crate::text::{grouped, time};

/// List sessions and their rounds.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context trajectory list
  context trajectory list support-7 --json

A round is open while it runs. An unfinished round counts as interrupted if its agent has a later
round or nothing was written to it for an hour.")]
pub(super) struct Args {
    /// Only this session
    session: Option<String>,
}

/// JSON record of `trajectory list`: one round.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct RoundHeadRecord<'a> {
    v: u32,
    session: &'a str,
    /// The calling agent, 0 for the main one.
    agent: u32,
    round: u32,
    /// `open`, `closed` or `interrupted`.
    state: &'static str,
    /// The beginning of the question.
    question: &'a str,
    nodes: u32,
    /// The number of commits.
    revision: u64,
    created_at: String,
    updated_at: String,
}

pub(super) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let heads = all_rounds(app, &*store, args.session.as_deref()).await?;
    let mut table = Table::new(COLUMNS);
    for (at, head) in heads.iter().enumerate() {
        let has_later = heads.get(at + 1).is_some_and(|next| next.round.agent == head.round.agent);
        let state = head.state_as_read(has_later, Some(app.now()));
        write(app, &mut table, head, state)?;
    }
    table.write(&mut app.out)?;
    if heads.is_empty() {
        app.out.note(
            "no rounds; programs record them, and so does `context import FILE --trajectory`",
        );
    }
    Ok(Outcome::Success)
}

const COLUMNS: [Column; 7] = [
    Column::id("SESSION"),
    Column::number("AGENT"),
    Column::number("ROUND"),
    Column::word("STATE"),
    Column::number("NODES"),
    Column::text("QUESTION"),
    Column::time("UPDATED"),
];

fn write(
    app: &mut App,
    table: &mut Table<7>,
    head: &RoundHead,
    state: RoundState,
) -> Result<(), Failure> {
    if app.out.is_json() {
        return app.out.record(&RoundHeadRecord {
            v: 1,
            session: head.round.agent.session.as_str(),
            agent: head.round.agent.agent,
            round: head.round.round,
            state: state.as_str(),
            question: &head.title,
            nodes: head.nodes,
            revision: head.revision,
            created_at: time(head.created_at),
            updated_at: time(head.updated_at),
        });
    }
    let agent = match head.round.agent.agent {
        0 => String::new(),
        number => number.to_string(),
    };
    table.row([
        head.round.agent.session.as_str().into(),
        agent.into(),
        head.round.round.to_string().into(),
        state.as_str().into(),
        grouped(head.nodes as u64).into(),
        (&*head.title).into(),
        app.out.when(head.updated_at).into(),
    ]);
    Ok(())
}
