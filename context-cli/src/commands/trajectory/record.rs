//! `trajectory record` and `import --trajectory`: records the turns of a stored chat.

use std::sync::Arc;

use context_runtime::Store;
use context_runtime::trajectory::{AgentNode, BranchRecorded, ChatRecorded, record_chat};
use schemars::JsonSchema;
use serde::Serialize;

use super::recorder_with;
use crate::app::{App, Outcome};
use crate::commands::{existing_chat, source_of};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::{clean, count};

/// The phase of recording.
const PHASE: &str = "recording rounds";

/// The largest number of chats that have a line each. Of more, there is a sum.
const LISTED: usize = 10;

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
    record_all(app, &store, [(args.chat.as_str(), 0)].into_iter()).await?;
    Ok(Outcome::Success)
}

/// Records all branches of chats, which are given with the number of their messages, as sessions of
/// their names. A repeated call adds new rounds.
pub(in crate::commands) async fn record_all(
    app: &mut App,
    store: &Arc<dyn Store>,
    chats: impl ExactSizeIterator<Item = (&str, usize)> + Clone,
) -> Result<(), Failure> {
    let progress = Progress::new(&app.out, PHASE);
    let mut recording = Recording::new(&progress, chats.clone());
    let (mut recorded, mut before) = (0, 0);
    for (chat, messages) in chats {
        let done = recording.record(app, store, chat, messages).await?;
        recorded += done.recorded();
        before += done.rounds() - done.recorded() - done.taken();
        match app.out.is_json() {
            true => record(app, chat, &done)?,
            false => write(app, chat, &done, recording.chats <= LISTED)?,
        }
    }
    let chats = recording.chats;
    let elapsed = progress.done();
    match app.out.is_json() || chats <= LISTED {
        true => Ok(()),
        false => write_line(app, recorded, &count(chats, "chat"), before, elapsed),
    }
}

/// Records all branches of chats and reports nothing.
pub(in crate::commands) async fn record_quietly(
    app: &App,
    store: &Arc<dyn Store>,
    chats: impl ExactSizeIterator<Item = (&str, usize)> + Clone,
    progress: &Progress,
) -> Result<(), Failure> {
    progress.phase(PHASE);
    let mut recording = Recording::new(progress, chats.clone());
    for (chat, messages) in chats {
        let _reported = recording.record(app, store, chat, messages).await?;
    }
    Ok(())
}

/// The recording of chats, one after the other.
struct Recording<'a> {
    progress: &'a Progress,
    chats: usize,
    messages: usize,
    /// The numbers of chats, messages and rounds that were recorded so far.
    done: (usize, usize, usize),
}

impl<'a> Recording<'a> {
    fn new<'b>(
        progress: &'a Progress,
        chats: impl ExactSizeIterator<Item = (&'b str, usize)>,
    ) -> Self {
        let number = chats.len();
        let messages = chats.map(|(_, messages)| messages).sum();
        Self { progress, chats: number, messages, done: (0, 0, 0) }
    }

    async fn record(
        &mut self,
        app: &App,
        store: &Arc<dyn Store>,
        chat: &str,
        messages: usize,
    ) -> Result<ChatRecorded, Failure> {
        if self.chats > 1 {
            self.progress.items("chat", self.done.0, self.chats);
            self.progress.part(self.done.1 as f64 / self.messages.max(1) as f64);
        }
        let reference = app.chat(chat);
        let about = existing_chat(store.history(), &reference).await?;
        source_of(chat, &about.metadata)?;
        let signal = self.progress.signal(app.interrupt(), self.done.2 as u64);
        let recorder = recorder_with(app, store, signal)?;
        let recorded = record_chat(&recorder, store.history(), &reference).await?;
        let (chats, reached, rounds) = self.done;
        self.done = (chats + 1, reached + messages, rounds + recorded.rounds());
        Ok(recorded)
    }
}

fn record(app: &mut App, chat: &str, done: &ChatRecorded) -> Result<(), Failure> {
    let branches = done.branches.iter().filter(|branch| branch.rounds > 0);
    app.out.record(&RecordedRecord {
        v: 1,
        session: chat,
        rounds: done.rounds(),
        recorded: done.recorded(),
        taken: done.taken(),
        skipped: done.skipped(),
        branches: branches.map(RecordedBranch::of).collect(),
    })
}

/// Writes what became of a chat: problems, and also the rest if the chat `is_listed`.
fn write(app: &mut App, chat: &str, done: &ChatRecorded, is_listed: bool) -> Result<(), Failure> {
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
    if !is_listed {
        return Ok(());
    }
    write_line(app, recorded, &clean(chat), rounds - recorded - taken, None)?;
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

/// Writes how many rounds of a chat, or of several, were recorded.
fn write_line(
    app: &mut App,
    recorded: usize,
    subject: &str,
    before: usize,
    elapsed: Option<String>,
) -> Result<(), Failure> {
    let label = app.out.paint(Style::Green, "recorded").to_string();
    let mut facts = vec![format!("{label} {} of {subject}", count(recorded, "round"))];
    if before > 0 {
        facts.push(format!("{before} there before"));
    }
    facts.extend(elapsed);
    app.out.line(facts.join(" · "))
}
