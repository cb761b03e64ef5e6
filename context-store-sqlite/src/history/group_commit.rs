//! Group commit: appends that wait together are written in one statement, one transaction, with one
//! disk sync.
//!
//! The task that gets the writer also takes the queued appends. An append that cannot take the fast
//! path is left to its caller, which commits on its own. Messages that were written already are
//! then recognized by their ids, as after any lost reply.
//!
//! A group is as durable as the append that asks for the most.

use std::collections::HashMap;
use std::sync::Arc;

use context_core::store::{Commit, CommitOutcome, Committed, Durability};
use context_core::{BranchName, ChatRef, Error};
use context_store_kit::{AnswerOr, CallQueue, Fit, QueuedCall, answer_or, yield_now};
use tokio::sync::oneshot;

use crate::connections::branch_ends::BranchEnd;
use crate::connections::{Connections, Writer};
use crate::error::{Fault, Result};
use crate::history::append::{Append, bind_no_row, end_of};
use crate::history::{commit, unindexed};
use crate::sql::{self, run};

/// The maximum number of appends in one statement.
const MOST: usize = 64;
/// The maximum number of bytes in one statement, which bounds the time that others wait.
const MOST_BYTES: usize = 4 << 20;

/// The appends that wait for the writer.
pub(crate) type Queue = CallQueue<Waiting, Answer>;
type QueuedAppend = QueuedCall<Waiting, Answer>;

pub(crate) struct Waiting {
    append: Append,
    durability: Option<Durability>,
}

/// The result of an append that another task has written.
type Answer = Result<Committed, Error>;

/// Limits a group to what one statement may hold.
fn fits(group: &[QueuedAppend], next: &Waiting) -> Fit {
    let bytes: usize = group.iter().map(|queued| queued.call.append.data.len()).sum();
    let too_large = bytes + next.append.data.len() > MOST_BYTES && !group.is_empty();
    if group.len() == MOST || too_large { Fit::Ends } else { Fit::Joins }
}

/// Commits, together with other queued appends if there are some.
pub(crate) async fn commit(
    connections: &Arc<Connections>,
    queue: &Queue,
    commit: Commit,
) -> Result<CommitOutcome> {
    // Packed before the lock is taken.
    let append = Append::of(&commit);
    let several = queue.has_several();
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
    let mut answer = queue.put(Waiting { append, durability: commit.durability });
    if several {
        // Other tasks that are ready now can queue their appends first.
        yield_now().await;
    }
    let mut writer = match answer_or(&mut answer, connections.writer_as_left()).await {
        AnswerOr::Answer(Some(answer)) => return Ok(CommitOutcome::Applied(answer?)),
        AnswerOr::Answer(None) => connections.writer_as_left().await?,
        AnswerOr::Resource(Err(fault)) => return Err(fault),
        AnswerOr::Resource(Ok(mut writer)) => loop {
            match answer.try_recv() {
                Ok(answer) => return Ok(CommitOutcome::Applied(answer?)),
                Err(oneshot::error::TryRecvError::Closed) => break writer,
                Err(oneshot::error::TryRecvError::Empty) => {
                    write(&mut writer, queue.take(fits)).await;
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

/// Writes those appends of a group that may follow the ends of their branches, as far as this
/// handle knows, in the order of their arrival. The others get no answer.
async fn write(writer: &mut Writer, mut group: Vec<QueuedAppend>) {
    let durability = group.iter().map(|queued| writer.durability_of(queued.call.durability)).max();
    if let Err(fault) = writer.set_durability(durability).await {
        return refuse(fault, group.into_iter().map(|queued| queued.answer));
    }
    // Writing rows in the order of their places is cheaper than in any other order. The appends of
    // one branch stay in their order.
    let Writer { connection, branch_ends, unindexed, .. } = writer;
    let mut rows: Vec<(BranchEnd, QueuedAppend)> = Vec::with_capacity(group.len());
    for queued in group.drain(..) {
        let append = &queued.call.append;
        let end = match rows.iter().rev().find(|(_, earlier)| earlier.call.append.at == append.at) {
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
    rows.retain(|(stored, queued)| {
        let append = &queued.call.append;
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
    for (stored, QueuedCall { call: Waiting { append, .. }, answer }) in rows {
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
