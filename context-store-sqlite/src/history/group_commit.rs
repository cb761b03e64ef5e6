//! Group commit: appends that wait together are written in one statement, one transaction, with one
//! disk sync.
//!
//! The task that gets the writer also takes the queued appends, in the order of their arrival, and
//! sends each caller its result. No caller depends on that. If the writing task was dropped, or if
//! the append cannot take the fast path, the caller gets no result and commits on its own. Messages
//! that were written already are then recognized by their ids, as after any lost reply.
//!
//! A group is as durable as the append that asks for the most.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard as StdGuard, PoisonError};
use std::task::Poll;

use context_core::store::{Commit, CommitOutcome, Committed, Durability};
use context_core::{BranchName, ChatRef, Error};
use context_store_kit::yield_now;
use tokio::sync::oneshot;

use crate::connections::branch_ends::BranchEnd;
use crate::connections::{Connections, Writer, WriterGuard};
use crate::error::{Fault, Result};
use crate::history::append::{Append, bind_no_row, end_of};
use crate::history::{commit, unindexed};
use crate::sql::{self, run};

/// The maximum number of appends in one statement.
const MOST: usize = 64;
/// The maximum number of bytes in one statement, which bounds the time that others wait.
const MOST_BYTES: usize = 4 << 20;

/// The appends that wait for the writer.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: StdMutex<VecDeque<QueuedAppend>>,
    /// Whether the last group had several appends. The next append is then probably not alone
    /// either.
    several: AtomicBool,
}

struct QueuedAppend {
    append: Append,
    durability: Option<Durability>,
    answer: oneshot::Sender<Answer>,
}

/// The result of an append that another task has written. `None` if the append is left to its
/// caller.
type Answer = Result<Committed, Error>;

impl Queue {
    fn waiting(&self) -> StdGuard<'_, VecDeque<QueuedAppend>> {
        // Entries are added and removed whole, so the queue is valid even if a holder has panicked.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, append: Append, durability: Option<Durability>) -> oneshot::Receiver<Answer> {
        let (answer, receiver) = oneshot::channel();
        self.waiting().push_back(QueuedAppend { append, durability, answer });
        receiver
    }

    /// Returns the next appends whose callers are still waiting.
    fn take(&self) -> Vec<QueuedAppend> {
        let mut waiting = self.waiting();
        self.several.store(waiting.len() > 1, Ordering::Relaxed);
        let mut group: Vec<QueuedAppend> = Vec::new();
        let mut bytes = 0;
        while let Some(next) = waiting.front() {
            bytes += next.append.data.len();
            if group.len() == MOST || bytes > MOST_BYTES && !group.is_empty() {
                break;
            }
            group.extend(waiting.pop_front().filter(|waiting| !waiting.answer.is_closed()));
        }
        group
    }
}

/// Commits, together with other queued appends if there are some.
pub(crate) async fn commit(
    connections: &Arc<Connections>,
    queue: &Queue,
    commit: Commit,
) -> Result<CommitOutcome> {
    // Packed before the lock is taken.
    let append = Append::of(&commit);
    let several = queue.several.load(Ordering::Relaxed);
    if !several && let Some(mut writer) = connections.idle_writer() {
        return alone(connections, &mut writer, commit, append).await;
    }
    let append = match append {
        Some(append) if append.is_small() => append,
        append => {
            let mut writer = connections.writer_as_left().await?;
            return alone(connections, &mut writer, commit, append).await;
        }
    };
    let mut answer = queue.put(append, commit.durability);
    if several {
        // Other tasks that are ready now can queue their appends first.
        yield_now().await;
    }
    let mut writer = match first_of(&mut answer, connections.writer_as_left()).await {
        AnswerOrWriter::Answer(Some(answer)) => return Ok(CommitOutcome::Applied(answer?)),
        AnswerOrWriter::Answer(None) => connections.writer_as_left().await?,
        AnswerOrWriter::Writer(Err(fault)) => return Err(fault),
        AnswerOrWriter::Writer(Ok(mut writer)) => loop {
            match answer.try_recv() {
                Ok(answer) => return Ok(CommitOutcome::Applied(answer?)),
                Err(oneshot::error::TryRecvError::Closed) => break writer,
                Err(oneshot::error::TryRecvError::Empty) => {
                    write(&mut writer, queue.take()).await;
                    unindexed::see_to(connections, &mut writer).await;
                }
            }
        },
    };
    alone(connections, &mut writer, commit, None).await
}

/// Commits what is not queued.
async fn alone(
    connections: &Arc<Connections>,
    writer: &mut Writer,
    commit: Commit,
    append: Option<Append>,
) -> Result<CommitOutcome> {
    let outcome = commit::commit(writer, commit, append).await?;
    unindexed::see_to(connections, writer).await;
    Ok(outcome)
}

enum AnswerOrWriter<'a> {
    Answer(Option<Answer>),
    Writer(Result<WriterGuard<'a>>),
}

async fn first_of<'a>(
    answer: &mut oneshot::Receiver<Answer>,
    writer: impl Future<Output = Result<WriterGuard<'a>>>,
) -> AnswerOrWriter<'a> {
    let mut writer = pin!(writer);
    poll_fn(|context| match Pin::new(&mut *answer).poll(context) {
        Poll::Ready(answer) => Poll::Ready(AnswerOrWriter::Answer(answer.ok())),
        Poll::Pending => writer.as_mut().poll(context).map(AnswerOrWriter::Writer),
    })
    .await
}

/// Writes those appends of a group that may follow the ends of their branches, as far as this
/// handle knows, in the order of their arrival. The others get no answer.
async fn write(writer: &mut Writer, mut group: Vec<QueuedAppend>) {
    let durability = group.iter().map(|queued| writer.durability_of(queued.durability)).max();
    if let Err(fault) = writer.set_durability(durability).await {
        return refuse(fault, group.into_iter().map(|queued| queued.answer));
    }
    // Writing rows in the order of their places is cheaper than in any other order. The appends of
    // one branch stay in their order.
    let Writer { connection, branch_ends, unindexed, .. } = writer;
    let mut rows: Vec<(BranchEnd, QueuedAppend)> = Vec::with_capacity(group.len());
    for queued in group.drain(..) {
        let append = &queued.append;
        let end = match rows.iter().rev().find(|(_, earlier)| earlier.append.at == append.at) {
            Some((end, _)) if append.grafts => Ok(Some(end.clone())),
            _ => end_of(connection, branch_ends, append).await,
        };
        let end = match end {
            Ok(Some(end)) if append.grafts => {
                let follows = append.may_follow(connection, &end).await;
                follows.map(|follows| follows.then_some(end))
            }
            end => end,
        };
        match end {
            Ok(Some(end)) => rows.push((end, queued)),
            Ok(None) => {}
            Err(fault) => {
                let answers = rows.into_iter().map(|(_, queued)| queued.answer);
                return refuse(fault, answers.chain([queued.answer]));
            }
        }
    }
    rows.sort_by_key(|(end, _)| end.branch);
    let statements =
        [(1, sql::APPEND_ROW), (4, sql::APPEND_4), (16, sql::APPEND_16), (MOST, sql::APPEND_64)];
    let mut ends: HashMap<(ChatRef, BranchName), BranchEnd> = HashMap::new();
    rows.retain(|(stored, QueuedAppend { append, .. })| {
        let end = ends.get(&append.at).unwrap_or(stored);
        // A chain that has the head that a graft has seen has it after other appends as well.
        let follows = append.grafts || end.head == append.seen;
        if follows {
            let end = append.end(end);
            ends.insert(append.at.clone(), end);
        }
        follows
    });
    let fits = statements.into_iter().find(|(size, _)| *size >= rows.len());
    let Some((size, statement)) = fits.filter(|_| !rows.is_empty()) else { return };
    let empty = size - rows.len();
    let mut query = sqlx::query(statement);
    let mut answers = Vec::with_capacity(rows.len());
    let (mut before, mut added): (Option<BranchEnd>, _) = (None, 0);
    for (stored, QueuedAppend { append, answer, .. }) in rows {
        let end = before.filter(|before| before.branch == stored.branch).unwrap_or(stored);
        added += append.added;
        answers.push((answer, append.committed(&end)));
        let (bound, after) = append.bind(query, &end);
        query = bound;
        before = Some(after);
    }
    for _ in 0..empty {
        query = bind_no_row(query);
    }
    match run(connection, query).await {
        Ok(_) => {
            *unindexed += added;
            for (at, end) in ends {
                branch_ends.learn(at, end);
            }
            for (answer, committed) in answers {
                // The process ends, so an error cannot be reported.
                let _ = answer.send(Ok(committed));
            }
        }
        Err(fault) => {
            for at in ends.keys() {
                branch_ends.forget(at);
            }
            if !fault.is_refusal() {
                refuse(fault, answers.into_iter().map(|(answer, _)| answer));
            }
        }
    }
}

/// Sends the failure to all callers. Had each tried on its own, each would have waited for the same
/// lock.
fn refuse(fault: Fault, answers: impl Iterator<Item = oneshot::Sender<Answer>>) {
    let error = fault.during("commit");
    for answer in answers {
        let same = Error::new(error.kind(), "commit", error.message().to_owned())
            .with_retry(error.retry());
        let _ = answer.send(Err(same));
    }
}

#[cfg(test)]
mod tests;
