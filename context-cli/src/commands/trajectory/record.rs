//! `trajectory record` and `import --trajectory`: records the turns of a stored chat.

use std::sync::Arc;

use context_runtime::Store;
use context_runtime::trajectory::{AgentNode, BranchRecorded, ChatRecorded, record_chat};
use schemars::JsonSchema;
use serde::Serialize;

use super::recorder;
use crate::app::{App, Outcome};
use crate::commands::{existing_chat, source_of};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, count};

/// Record the turns of a stored chat.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context trajectory record support-7        record what is new: a round for each question
  context trajectory record support-7 --json
  context trajectory show support-7          then look at the rounds

The session has the name of the chat. Branch `main` is agent 0, or the active branch if there is no
`main`. Each further branch is an agent of its own, with the rounds after its fork, below the node
that it forks from. If it forks within a turn, its first round repeats the question.

Recording again adds what the chat has got since then. A turn that is recorded already, also by the
program that ran it, is not recorded a second time. Models, tokens and costs are those of the file
that the chat was imported from. `context import FILE --trajectory` imports and records in one step.")]
pub(super) struct Args {
    /// The chat
    chat: String,
}

/// JSON record of `trajectory record` and `import --trajectory`: the outcome for the rounds of one
/// chat.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct RecordedRecord<'a> {
    v: u32,
    /// The session, named like the chat.
    session: &'a str,
    rounds: usize,
    /// The number of rounds written or extended.
    recorded: usize,
    /// The number of rounds not written because a different round has their number.
    taken: usize,
    /// The number of messages that belong to no round.
    skipped: usize,
    /// The branches with rounds of their own.
    branches: Vec<RecordedBranch<'a>>,
}

/// One branch.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct RecordedBranch<'a> {
    branch: &'a str,
    /// The agent of its newest round. Not there if it has no round in the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<u32>,
    /// The agent and the node that its first round hangs below, as in `0/1.2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    below: Option<String>,
    /// The number of rounds after its fork.
    rounds: usize,
    recorded: usize,
    taken: usize,
    skipped: usize,
}

impl<'a> RecordedBranch<'a> {
    fn of(branch: &'a BranchRecorded) -> Self {
        Self {
            branch: branch.branch.as_str(),
            agent: branch.agent,
            below: branch.parent.map(|parent| AgentNode::from(parent).to_string()),
            rounds: branch.rounds,
            recorded: branch.recorded,
            taken: branch.taken,
            skipped: branch.skipped.len(),
        }
    }
}

pub(super) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_write().await?;
    app.out.outlive_reader();
    record(app, &store, &args.chat).await?;
    Ok(Outcome::Success)
}

/// Records all branches of a chat as a session of its name. A repeated call adds new rounds.
pub(in crate::commands) async fn record(
    app: &mut App,
    store: &Arc<dyn Store>,
    chat: &str,
) -> Result<(), Failure> {
    let done = record_quietly(app, store, chat).await?;
    if app.out.is_json() {
        let branches = done.branches.iter().filter(|branch| branch.rounds > 0);
        return app.out.record(&RecordedRecord {
            v: 1,
            session: chat,
            rounds: done.rounds(),
            recorded: done.recorded(),
            taken: done.taken(),
            skipped: done.skipped(),
            branches: branches.map(RecordedBranch::of).collect(),
        });
    }
    write(app, chat, &done)
}

/// Records all branches of a chat and reports nothing.
pub(in crate::commands) async fn record_quietly(
    app: &App,
    store: &Arc<dyn Store>,
    chat: &str,
) -> Result<ChatRecorded, Failure> {
    let reference = app.chat(chat);
    let about = existing_chat(store.history(), &reference).await?;
    source_of(chat, &about.metadata)?;
    let recorder = recorder(app, store)?;
    Ok(record_chat(&recorder, store.history(), &reference).await?)
}

fn write(app: &mut App, chat: &str, done: &ChatRecorded) -> Result<(), Failure> {
    let (rounds, recorded, taken) = (done.rounds(), done.recorded(), done.taken());
    if done.skipped() > 0 {
        app.out.note(format_args!(
            "{}: {} without a place in a round",
            clean(chat),
            count(done.skipped(), "result")
        ));
    }
    if taken > 0 {
        let what = count(taken, "round");
        app.out.note(format_args!(
            "{}: {what} of the session exist with other content and were not changed; `context trajectory list` shows them",
            clean(chat)
        ));
    }
    let label = app.out.paint(Style::Green, "recorded").to_string();
    let before = rounds - recorded - taken;
    let before = if before > 0 { format!(" · {before} there before") } else { String::new() };
    app.out.line(format_args!(
        "{label} {} of {}{before}",
        count(recorded, "round"),
        clean(chat)
    ))?;
    for branch in &done.branches {
        let Some(agent) = branch.agent.filter(|agent| *agent > 0) else { continue };
        let below = branch.parent.map(|parent| format!(", below {}", AgentNode::from(parent)));
        app.out.line(format_args!(
            "  agent {agent}: branch {}, {}{}",
            clean(branch.branch.as_str()),
            count(branch.rounds, "round"),
            below.unwrap_or_default()
        ))?;
    }
    Ok(())
}
