//! Rounds of trajectories: writing a commit, listing, finding by message, removing.
//!
//! The common commit is one statement, which compares the round's revision and writes. Every other
//! commit locks the round's row before its first decision: a replay, a conflict with another
//! writer, and changes of nodes whose columns cannot show the whole node, which are written again.

pub(crate) mod expressions;
pub(crate) mod plan;
pub(crate) mod read;
pub(crate) mod rows;
pub(crate) mod statement;

use std::sync::Arc;

use context_core::store::{
    MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
};
use context_core::trajectory::{AgentRef, NodeId, RoundHead, RoundRecord, TrajectoryNode};
use context_core::{ChatId, Error, ErrorKind, MessageId, SessionId, Timestamp, UserId};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::checksums::rounds as checksums;
use crate::connections::{Pool, Session, Statement, Work};
use crate::error::{Fault, Result};
use crate::rounds::plan::{RECORD, RoundPlan};
use crate::rounds::read::{head, load, number};
use crate::rounds::statement::CommitStatement;
use crate::sql::rounds as sql;
use crate::values::numbers::{count, signed};
use crate::values::rows::text;

/// The number of rounds removed in one transaction.
const REMOVAL_BATCH: i64 = 100;

/// Writes a commit as one statement. Returns `None` if that is not possible, or if the round has
/// another revision.
pub(crate) async fn record_in_one_statement(
    pool: &Pool,
    plan: &RoundPlan<'_>,
) -> Result<Option<RecordOutcome>> {
    let commit = plan.commit;
    let create = commit.expected == 0;
    if create && pool.row_security() {
        // The policies of other tables do not see a round that the same statement creates.
        return Ok(None);
    }
    let (mut statement, removed) = (CommitStatement::new(), plan.removed_nodes());
    statement.head(&commit.head, commit.key.as_str(), create, (plan.dependent_rows(), &removed))?;
    let changes = plan.changed.iter().map(|(ordinal, changes)| (*ordinal, changes));
    if !statement.changes(&commit.head.round, changes)? {
        return Ok(None);
    }
    statement.remove_nodes(&removed)?;
    statement.remove_around(commit.head.round.round, &removed)?;
    statement.nodes(&commit.head.round, plan.added.iter())?;
    add_dependent_rows(&mut statement, plan)?;
    statement.end(plan.changed.len() + plan.removed.len())?;
    let mut session = pool.begin(Work::Append, Some(&commit.head.round.agent.user)).await?;
    let query = statement.build(session.prefix());
    let written = session.first(query).await;
    match session.end(written).await {
        Ok(row) => Ok(row.map(|_| RecordOutcome::Applied)),
        Err(fault) if fault.is_refusal() => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Adds edges, versions and messages.
fn add_dependent_rows(statement: &mut CommitStatement, plan: &RoundPlan<'_>) -> Result<()> {
    let head = &plan.commit.head;
    statement.edges(head, &plan.edges)?;
    let new = plan
        .added
        .iter()
        .flat_map(|node| node.versions.iter().map(|version| (node.id.ordinal, version)));
    statement.versions(&head.round, new.chain(plan.versions.iter().copied()))?;
    statement.messages(&head.round, plan.added.iter())
}

/// Writes a commit with the round locked, or returns the conflict.
pub(crate) async fn record(
    session: &mut Session<'_>,
    plan: &RoundPlan<'_>,
) -> Result<RecordOutcome> {
    let RoundCommit { expected, key, head, .. } = plan.commit;
    if *expected == 0 {
        let create = round_query(session, sql::CREATE_ROUND, head);
        session.execute(create).await?;
    }
    let lock = round_query(session, sql::LOCK_ROUND, head);
    let (no, actual) = match session.first(lock).await? {
        None => return Ok(RecordOutcome::Conflict { actual: 0 }),
        Some(row) => {
            let actual = count(row.try_get(1)?)?;
            if actual == head.revision && row.try_get::<&[u8], _>(2)? == key.as_str().as_bytes() {
                return Ok(RecordOutcome::Replayed);
            }
            (row.try_get(0)?, actual)
        }
    };
    if actual != *expected {
        return Ok(RecordOutcome::Conflict { actual });
    }
    let touched = plan.touched_nodes();
    let mut record = RoundRecord::new(head.clone(), Vec::new(), Vec::new());
    if !touched.is_empty() {
        record.nodes = stored_nodes(session, head, &touched).await?;
        record.apply(&plan.changes_to_stored(), head).map_err(|error| error.during(RECORD))?;
        let mut statement = CommitStatement::new();
        statement.of_round(no)?;
        statement.remove_nodes(&touched)?;
        statement.end(touched.len())?;
        let query = statement.build(session.prefix());
        session.only(query).await?;
    }
    let (mut statement, removed) = (CommitStatement::new(), plan.removed_nodes());
    statement.head(head, key.as_str(), false, (plan.dependent_rows(), &removed))?;
    statement.remove_around(head.round.round, &removed)?;
    statement.nodes(&head.round, plan.added.iter().chain(&record.nodes))?;
    add_dependent_rows(&mut statement, plan)?;
    statement.end(0)?;
    let query = statement.build(session.prefix());
    match session.only(query).await {
        Ok(_) => Ok(RecordOutcome::Applied),
        Err(fault) if fault.is_refusal() => {
            let message = "a node, label or edge of the round is added twice";
            Err(Error::new(ErrorKind::Corrupt, RECORD, message).with("round", &head.round).into())
        }
        Err(fault) => Err(fault),
    }
}

/// Returns the nodes of these numbers. The head in the result is not the stored one and may be that
/// of a new round.
async fn stored_nodes(
    session: &mut Session<'_>,
    head: &RoundHead,
    touched: &[i64],
) -> Result<Vec<Arc<TrajectoryNode>>> {
    if head.revision == 1 {
        return Ok(Vec::new());
    }
    let number = head.round.round;
    let mut records = load(session, &head.round.agent, &(number..=number), Some(touched)).await?;
    let record =
        records.pop().ok_or(Fault::Corrupt("a locked round does not exist any more", None))?;
    Ok(record.nodes)
}

fn round_query(session: &Session<'_>, statement: &'static str, head: &RoundHead) -> Statement {
    let AgentRef { user, session: name, agent } = &head.round.agent;
    let query =
        session.query(statement).bind(user.as_str().as_bytes()).bind(name.as_str().as_bytes());
    query.bind(i64::from(*agent)).bind(i64::from(head.round.round))
}

/// Lists heads page by page.
pub(crate) async fn list(session: &mut Session<'_>, query: &RoundQuery) -> Result<Page<RoundHead>> {
    let after = query.after_round()?;
    let (place, agent, round) = match &after {
        Some((session, agent, round)) => (session.as_str(), i64::from(*agent), i64::from(*round)),
        None => ("", -1, 0),
    };
    let statement =
        if query.session.is_some() { sql::ROUNDS_OF_SESSION } else { sql::ROUNDS_OF_USER };
    let list = session
        .query(statement)
        .bind(query.user.as_str().as_bytes())
        .bind(query.session.as_ref().map(|session| session.as_str().as_bytes()))
        .bind(query.agent.map(i64::from))
        .bind(query.before.map_or(i64::MAX, i64::from))
        .bind(place.as_bytes())
        .bind(agent)
        .bind(round)
        .bind(signed(query.limit + 1));
    let mut items = Vec::new();
    for row in session.all(list).await? {
        items.push(listed_head(&query.user, &row)?);
    }
    let more = items.len() > query.limit;
    items.truncate(query.limit);
    let next = items.last().filter(|_| more).map(|last: &RoundHead| last.round.cursor());
    Ok(Page { items, next })
}

/// Reads the head from a row of a listing.
fn listed_head(user: &UserId, row: &PgRow) -> Result<RoundHead> {
    const PROBLEM: &str = "the head of a round cannot be read";
    let (shown, exact) = (row.try_get(0)?, row.try_get(1)?);
    let agent =
        AgentRef::new(user.clone(), SessionId::from(text(row, 2)?), number(row, 3, PROBLEM)?);
    let sum =
        checksums::head(&agent.round(number(row, 4, PROBLEM)?), row.try_get(5)?, shown, exact);
    if row.try_get::<&[u8], _>(6)? != sum {
        return Err(Fault::Corrupt("the checksum of the head of a round does not match", None));
    }
    head(shown, exact)
}

/// Returns the nodes that are linked to a message.
pub(crate) async fn of_message(
    session: &mut Session<'_>,
    user: &UserId,
    chat: &ChatId,
    message: &MessageId,
) -> Result<Vec<MessageNode>> {
    const PROBLEM: &str = "the message of a node cannot be read";
    let query = session.query(sql::NODES_OF_MESSAGE).bind(user.as_str().as_bytes());
    let query = query.bind(chat.as_str().as_bytes()).bind(message.as_str().as_bytes());
    let mut nodes = Vec::new();
    for row in session.all(query).await? {
        let agent =
            AgentRef::new(user.clone(), SessionId::from(text(&row, 0)?), number(&row, 1, PROBLEM)?);
        let node = NodeId::new(number(&row, 2, PROBLEM)?, number(&row, 3, PROBLEM)?);
        nodes.push(MessageNode::new(agent, node));
    }
    Ok(nodes)
}

/// Removes rounds in one transaction.
pub(crate) async fn prune(session: &mut Session<'_>, prune: &RoundPrune) -> Result<RoundsPruned> {
    remove_up_to(session, prune, i64::MAX).await
}

/// Removes some of the rounds of a user.
pub(crate) async fn remove_some(session: &mut Session<'_>, user: &UserId) -> Result<RoundsPruned> {
    remove_up_to(session, &RoundPrune::of_user(user.clone()), REMOVAL_BATCH).await
}

async fn remove_up_to(
    session: &mut Session<'_>,
    prune: &RoundPrune,
    limit: i64,
) -> Result<RoundsPruned> {
    let query = session
        .query(sql::PRUNE_ROUNDS)
        .bind(prune.user.as_str().as_bytes())
        .bind(prune.session.as_ref().map(|session| session.as_str().as_bytes()))
        .bind(prune.agent.map(i64::from))
        .bind(prune.updated_until.map_or(i64::MAX, Timestamp::as_micros))
        .bind(limit);
    let row = session.only(query).await?;
    let mut pruned = RoundsPruned::default();
    (pruned.rounds, pruned.nodes) = (count(row.try_get(0)?)?, count(row.try_get(1)?)?);
    Ok(pruned)
}
