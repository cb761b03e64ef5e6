//! The child process: the test program runs itself to write to a store and to be killed.
//!
//! The parent passes the task in an environment variable, and a line on standard input is the
//! signal to begin. The child prints and flushes a line for each call that the store has
//! acknowledged. A line that begins with `error` reports a failure.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;

use context_core::store::{CommitOutcome, NewChat, RecordOutcome};
use context_core::trajectory::{NewNode, NodeBody, NodeId, Round};
use context_core::{ErrorKind, Store, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chat_fixture::ChatFixture;
use crate::expect::{applied, fail, same};
use crate::life::{agree, answered};
use crate::linear::ClientTask;
use crate::memory_fixture::{MemoryLife, MemoryStep};
use crate::round_fixture::RoundLife;
use crate::script::Script;
use crate::step::Step;
use crate::store_fixture::StoreFixture;
use crate::verdict::{Check, Stop};
use context_simulator::Random;

/// The environment variable that makes the test program a child. Its value is the task.
pub(crate) const VARIABLE: &str = "CONTEXT_CONFORMANCE_CHILD";

/// The maximum number of steps of a child.
const MOST_STEPS: usize = 100_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The location of the store, from the subject.
    pub(crate) location: String,
    pub(crate) work: Work,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Work {
    /// Continues a sequence of random steps after `done` steps, until it is killed.
    Live { seed: u64, done: usize },
    /// Appends turns to several branches concurrently until it is killed. Each branch already has
    /// the given number of turns.
    Turns { done: Vec<usize> },
    /// Appends this many messages to `main`, with a retry after each conflict.
    Compete { name: String, messages: usize },
    /// Creates the store and a chat of this name, and appends this many messages.
    Create { name: String, messages: usize },
    /// Adds this many conclusions to a round, with a retry after each conflict.
    Record { name: String, nodes: usize },
    /// Continues a random round after `done` commits, until it is killed.
    Rounds { seed: u64, done: u64 },
    /// Continues random memory steps after `done` steps, until it is killed.
    Memories { seed: u64, done: usize },
    /// Increments a memory this many times, with a retry after each conflict.
    Count { times: usize },
    /// Makes the calls of some clients of a run, and records them.
    Clients(ClientTask),
}

/// Runs the task of a child process.
pub(crate) async fn main(subject: Arc<dyn StoreFixture>, task: &str) -> ExitCode {
    let done = async {
        let task: Task =
            serde_json::from_str(task).map_err(|error| Stop::Fail(error.to_string()))?;
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map_err(broken)?;
        work(&*subject, task).await
    };
    match done.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Skip(text) | Stop::Fail(text)) => {
            let _nobody_listens = acknowledge(&format!("error {}", text.replace('\n', " ")));
            ExitCode::FAILURE
        }
    }
}

fn broken(error: io::Error) -> Stop {
    Stop::Fail(format!("a pipe to the parent: {error}"))
}

fn acknowledge(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    out.flush()
}

async fn work(subject: &dyn StoreFixture, task: Task) -> Check {
    let store = open(subject, &task.location).await?;
    let fixture = ChatFixture::new(store, "ada", "chat");
    match task.work {
        Work::Live { seed, done } => live(&fixture, seed, done).await,
        Work::Turns { done } => turns(&fixture, done).await,
        Work::Compete { name, messages } => compete(&fixture, &name, messages).await,
        Work::Create { name, messages } => create(&fixture.other("ada", &name), messages).await,
        Work::Record { name, nodes } => {
            recorder(&fixture, &name, nodes, |label| acknowledge(label).map_err(broken)).await
        }
        Work::Rounds { seed, done } => rounds(&fixture, seed, done).await,
        Work::Memories { seed, done } => memories(&fixture, seed, done).await,
        Work::Count { times } => fixture.count_up("m", times).await,
        Work::Clients(task) => {
            let store = Arc::clone(&fixture.store);
            task.live(store, || acknowledge("call").map_err(broken)).await
        }
    }
}

/// Opens a store that other processes may be opening, with retries while it is unavailable.
pub(crate) async fn open(subject: &dyn StoreFixture, location: &str) -> Check<Arc<dyn Store>> {
    for tries in 0.. {
        match subject.open_at(location).await {
            Err(error) if error.kind() == ErrorKind::Unavailable && tries < 200 => {
                tokio::task::yield_now().await
            }
            result => {
                return result?
                    .ok_or_else(|| Stop::Fail("has a location, but is not opened at it".into()));
            }
        }
    }
    fail("opening a store was given up")
}

/// Returns random steps that may be interrupted anywhere, since none of them makes two calls.
pub(crate) fn steps(seed: u64) -> impl Iterator<Item = Step> {
    let mut random = Random::new(seed);
    std::iter::repeat_with(move || Step::random(&mut random))
        .filter(|step| !matches!(step, Step::DeleteChat { .. }))
        .take(MOST_STEPS)
}

async fn live(fixture: &ChatFixture, seed: u64, done: usize) -> Check {
    let mut script = Script::new(fixture.chat.clone(), true);
    for (i, step) in steps(seed).enumerate() {
        if let Some(action) = script.next(&step) {
            let expected = script.expect(&action);
            if i >= done {
                let (seen, lost) = answered(fixture, &action).await;
                agree(&format!("step {i} of a child, {step:?}"), seen, lost, &expected)?;
            }
        }
        if i >= done {
            acknowledge("done").map_err(broken)?;
        }
    }
    Ok(())
}

/// Returns the ids of one turn on a branch: a question and an answer.
pub(crate) fn turn(branch: usize, n: usize) -> [String; 2] {
    ["question", "answer"].map(|part| format!("{branch}-{n}-{part}"))
}

async fn turns(fixture: &ChatFixture, done: Vec<usize>) -> Check {
    let mut writers = tokio::task::JoinSet::new();
    for (branch, from) in done.into_iter().enumerate() {
        let fixture = fixture.clone();
        writers.spawn(async move {
            let last = |n: usize| turn(branch, n)[1].clone();
            let mut head = from.checked_sub(1).map_or_else(|| "root".to_owned(), last);
            for n in from..MOST_STEPS {
                let new = turn(branch, n);
                let commit =
                    fixture.extend_on(&format!("b{branch}"), &head, new.iter().map(String::as_str));
                let did = "a turn on a branch of one's own";
                match patiently(&fixture, commit).await? {
                    // The server may have completed the last commit of the killed process.
                    CommitOutcome::Replayed(turn) if n == from => {
                        same(did, &turn.head, &Some(new[1].as_str().into()))?;
                    }
                    outcome => drop(applied(did, outcome)?),
                }
                acknowledge(&branch.to_string()).map_err(broken)?;
                head.clone_from(&new[1]);
            }
            Check::Ok(())
        });
    }
    while let Some(joined) = writers.join_next().await {
        joined.map_err(|error| Stop::Fail(format!("a writer: {error}")))??;
    }
    Ok(())
}

/// Commits, again while the store is too busy.
pub(crate) async fn patiently(
    fixture: &ChatFixture,
    commit: context_core::store::Commit,
) -> Check<CommitOutcome> {
    for _ in 0..200 {
        match fixture.history().commit(commit.clone()).await {
            Err(error) if error.kind() == ErrorKind::Unavailable => tokio::task::yield_now().await,
            result => return Ok(result?),
        }
    }
    fail("a commit: still unavailable after 200 tries")
}

pub(crate) async fn compete(fixture: &ChatFixture, name: &str, messages: usize) -> Check {
    let mut head = String::new();
    for i in 0..messages {
        let id = format!("{name}-{i}");
        loop {
            match patiently(fixture, fixture.extend(&head, [id.as_str()])).await? {
                CommitOutcome::Applied(_) => break head.clone_from(&id),
                CommitOutcome::Conflict { actual } => {
                    head = actual.map(|id| id.to_string()).unwrap_or_default()
                }
                other => {
                    return fail(format!("commit of {id}, again after conflicts: saw {other:?}"));
                }
            }
        }
        acknowledge(&id).map_err(broken)?;
    }
    Ok(())
}

/// Adds conclusions `NAME-0`, `NAME-1`, … to round 0 of session `s`, which has a question. Each is
/// added after a fresh read.
pub(crate) async fn recorder(
    fixture: &ChatFixture,
    name: &str,
    nodes: usize,
    mut done: impl FnMut(&str) -> Check,
) -> Check {
    for n in 0..nodes {
        let label = format!("{name}-{n}");
        for tries in 0.. {
            let mut round_fixture = fixture.round("s", 0);
            let there = fixture.load(round_fixture.reference()).await?;
            let there = there.ok_or_else(|| Stop::Fail("the round is gone".into()))?;
            round_fixture.round = Round::from_record(there)?;
            let query = NodeId::new(0, 0);
            let new = NewNode::new(NodeBody::state(label.as_str()), [query]).label(label.as_str());
            round_fixture.add(new.append())?;
            let mut commit = round_fixture.commit();
            commit.key = format!("{label}-{tries}").into();
            if fixture.record(&commit).await? == RecordOutcome::Applied {
                break;
            }
        }
        done(&label)?;
    }
    Ok(())
}

async fn rounds(fixture: &ChatFixture, seed: u64, done: u64) -> Check {
    let mut life = RoundLife::new(fixture, seed);
    for n in 0..MOST_STEPS as u64 {
        let commit = life.next();
        if n < done {
            continue;
        }
        match fixture.record(&commit).await? {
            RecordOutcome::Applied => {}
            // The server may have completed the last commit of the killed process.
            RecordOutcome::Replayed if n == done => {}
            other => {
                return fail(format!(
                    "commit {n} of a round that nobody else writes: saw {other:?}"
                ));
            }
        }
        acknowledge("done").map_err(broken)?;
    }
    Ok(())
}

async fn memories(fixture: &ChatFixture, seed: u64, done: usize) -> Check {
    let mut life = MemoryLife::new(seed);
    for n in 0..MOST_STEPS {
        let step = life.next();
        if n >= done {
            match &step {
                MemoryStep::Write(writes) => drop(fixture.write_memories(writes).await?),
                MemoryStep::Forget(forget) => drop(fixture.forget_memories(forget).await?),
            }
            acknowledge("done").map_err(broken)?;
        }
    }
    Ok(())
}

async fn create(fixture: &ChatFixture, messages: usize) -> Check {
    acknowledge("open").map_err(broken)?;
    let mut tries = 0;
    loop {
        let new = NewChat::new(fixture.chat.clone(), Timestamp::from_micros(1));
        match fixture.history().create_chat(new).await {
            Err(error) if error.kind() == ErrorKind::Unavailable && tries < 200 => tries += 1,
            result => break result.map(drop)?,
        }
        tokio::task::yield_now().await;
    }
    acknowledge("created").map_err(broken)?;
    let mut head = String::new();
    for i in 0..messages {
        let id = format!("m{i}");
        crate::expect::applied(
            "a first message",
            patiently(fixture, fixture.extend(&head, [id.as_str()])).await?,
        )?;
        acknowledge(&id).map_err(broken)?;
        head = id;
    }
    Ok(())
}
