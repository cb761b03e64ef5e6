//! Rounds of trajectories: writing a commit, listing, finding by message, removing.
//!
//! The common commit is one statement, which compares the round's revision and writes. Every other
//! commit locks the round's row before its first decision: a replay, a conflict with another
//! writer, and changes of nodes whose columns cannot show the whole node, which are written again.

pub(crate) mod calls;
pub(crate) mod parts;
pub(crate) mod plan;
pub(crate) mod read;
pub(crate) mod rows;
pub(crate) mod sums;
pub(crate) mod write;

use std::sync::Arc;

use context_core::store::{
    MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
};
use context_core::trajectory::{AgentRef, Node, NodeId, RoundHead, RoundRecord};
use context_core::{ChatId, Error, ErrorKind, MessageId, SessionId, Timestamp, UserId};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::error::{Fault, Result};
use crate::place::{count, signed};
use crate::pool::{Pool, Session, Statement, Work};
use crate::rounds::plan::{Plan, RECORD};
use crate::rounds::read::{head, load, number};
use crate::rounds::write::Draft;
use crate::rows::text;
use crate::sql::rounds as sql;

/// The number of rounds removed in one transaction.
const REMOVED_AT_ONCE: i64 = 100;

/// Writes a commit as one statement. Returns `None` if that is not possible, or if the round has
/// another revision.
pub(crate) async fn record_at_once(pool: &Pool, plan: &Plan<'_>) -> Result<Option<RecordOutcome>> {
    let commit = plan.commit;
    let create = commit.expected == 0;
    if create && pool.row_security() {
        // The policies of other tables do not see a round that the same statement creates.
        return Ok(None);
    }
    let (mut draft, removed) = (Draft::new(), plan.gone());
    draft.head(&commit.head, commit.key.as_str(), create, (plan.beside(), &removed))?;
    let changes = plan.changed.iter().map(|(ordinal, changes)| (*ordinal, changes));
    if !draft.changes(&commit.head.round, changes)? {
        return Ok(None);
    }
    draft.remove_nodes(&removed)?;
    draft.remove_around(commit.head.round.round, &removed)?;
    draft.nodes(&commit.head.round, plan.added.iter())?;
    rest(&mut draft, plan)?;
    draft.end(plan.changed.len() + plan.removed.len())?;
    let mut session = pool.begin(Work::Append, Some(&commit.head.round.agent.user)).await?;
    let query = draft.statement(session.prefix());
    let written = session.first(query).await;
    match session.end(written).await {
        Ok(row) => Ok(row.map(|_| RecordOutcome::Applied)),
        Err(fault) if fault.is_refusal() => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Adds edges, versions and messages.
fn rest(draft: &mut Draft, plan: &Plan<'_>) -> Result<()> {
    let head = &plan.commit.head;
    draft.edges(head, &plan.edges)?;
    let new = plan
        .added
        .iter()
        .flat_map(|node| node.versions.iter().map(|version| (node.id.ordinal, version)));
    draft.versions(&head.round, new.chain(plan.versions.iter().copied()))?;
    draft.messages(&head.round, plan.added.iter())
}

/// Writes a commit with the round locked, or returns the conflict.
pub(crate) async fn record(session: &mut Session<'_>, plan: &Plan<'_>) -> Result<RecordOutcome> {
    let RoundCommit { expected, key, head, .. } = plan.commit;
    if *expected == 0 {
        let create = of_round(session, sql::CREATE_ROUND, head);
        session.execute(create).await?;
    }
    let lock = of_round(session, sql::LOCK_ROUND, head);
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
    let touched = plan.touched();
    let mut record = RoundRecord::new(head.clone(), Vec::new(), Vec::new());
    if !touched.is_empty() {
        record.nodes = stored_nodes(session, head, &touched).await?;
        record.apply(&plan.changes_to_stored(), head).map_err(|error| error.during(RECORD))?;
        let mut draft = Draft::new();
        draft.of_round(no)?;
        draft.remove_nodes(&touched)?;
        draft.end(touched.len())?;
        let query = draft.statement(session.prefix());
        session.only(query).await?;
    }
    let (mut draft, removed) = (Draft::new(), plan.gone());
    draft.head(head, key.as_str(), false, (plan.beside(), &removed))?;
    draft.remove_around(head.round.round, &removed)?;
    draft.nodes(&head.round, plan.added.iter().chain(&record.nodes))?;
    rest(&mut draft, plan)?;
    draft.end(0)?;
    let query = draft.statement(session.prefix());
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
) -> Result<Vec<Arc<Node>>> {
    if head.revision == 1 {
        return Ok(Vec::new());
    }
    let number = head.round.round;
    let mut records = load(session, &head.round.agent, &(number..=number), Some(touched)).await?;
    let record = records.pop().ok_or(Fault::Corrupt("a round that is locked is gone", None))?;
    Ok(record.nodes)
}

fn of_round(session: &Session<'_>, statement: &'static str, head: &RoundHead) -> Statement {
    let AgentRef { user, session: name, agent } = &head.round.agent;
    let query =
        session.query(statement).bind(user.as_str().as_bytes()).bind(name.as_str().as_bytes());
    query.bind(i64::from(*agent)).bind(i64::from(head.round.round))
}

/// Lists heads page by page.
pub(crate) async fn list(session: &mut Session<'_>, query: &RoundQuery) -> Result<Page<RoundHead>> {
    let behind = query.behind()?;
    let (place, agent, round) = match &behind {
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
        items.push(listed(&query.user, &row)?);
    }
    let more = items.len() > query.limit;
    items.truncate(query.limit);
    let next = items.last().filter(|_| more).map(|last: &RoundHead| last.round.cursor());
    Ok(Page { items, next })
}

/// Reads the head from a row of a listing.
fn listed(user: &UserId, row: &PgRow) -> Result<RoundHead> {
    const PROBLEM: &str = "the head of a round cannot be read";
    let (shown, exact) = (row.try_get(0)?, row.try_get(1)?);
    let agent =
        AgentRef::new(user.clone(), SessionId::from(text(row, 2)?), number(row, 3, PROBLEM)?);
    let sum = sums::head(&agent.round(number(row, 4, PROBLEM)?), row.try_get(5)?, shown, exact);
    if row.try_get::<&[u8], _>(6)? != sum {
        return Err(Fault::Corrupt(
            "the head of a round is not what was written: its checksum differs",
            None,
        ));
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
    removed(session, prune, i64::MAX).await
}

/// Removes some of the rounds of a user.
pub(crate) async fn remove_some(session: &mut Session<'_>, user: &UserId) -> Result<RoundsPruned> {
    removed(session, &RoundPrune::of_user(user.clone()), REMOVED_AT_ONCE).await
}

async fn removed(
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
