//! Listing rounds: heads page by page, nodes of a message, removal.

use std::cmp::{Ordering, Reverse};

use context_core::store::{KeyOrder, MessageNode, Page, RoundPrune, RoundQuery, RoundsPruned};
use context_core::trajectory::{AgentRef, NodeId, RoundHead, RoundRef};
use context_core::{ChatId, MessageId, Timestamp, UserId};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::checksums::rounds::DIFFERS;
use crate::connections::Writer;
use crate::counts::{self, ListPart, UserCount};
use crate::error::{Fault, Result};
use crate::rounds::head_of;
use crate::sql::rounds as sql;
use crate::sql::run;
use crate::values::numbers::{count, signed};
use crate::values::rows::json_numbers;

/// Above every number of a round.
const END: i64 = i64::MAX;

/// Returns one page of heads. Each statement continues where the last page ended, in the order of
/// an index.
pub(crate) async fn list(
    connection: &mut SqliteConnection,
    query: &RoundQuery,
) -> Result<Page<RoundHead>> {
    let cursor = query.after_round()?;
    let cursor = cursor
        .as_ref()
        .map(|(session, agent, round)| (session.as_str(), i64::from(*agent), i64::from(*round)));
    let after = cursor.map(|(session, agent, round)| (session.to_owned(), agent, Reverse(round)));
    let (user, limit) = (query.user.as_str(), signed(query.limit + 1));
    let before = query.before.map_or(END, i64::from);
    let agent = query.agent.map(i64::from);
    let statement = match (query.session.as_ref().map(|session| session.as_str()), agent) {
        (Some(session), Some(agent)) => {
            let here = cursor.map(|(s, a, round)| ((s, a).cmp(&(session, agent)), round));
            let before = match here {
                Some((Ordering::Greater, _)) => 0,
                Some((Ordering::Equal, round)) => before.min(round),
                _ => before,
            };
            sqlx::query(sql::HEADS_OF_AGENT).bind(user).bind(session).bind(agent).bind(before)
        }
        (Some(session), None) => {
            let (agent, round) = match cursor {
                Some((s, ..)) if s > session => (END, 0),
                Some((s, agent, round)) if s == session => (agent, round),
                _ => (-1, 0),
            };
            let query = sqlx::query(sql::HEADS_OF_SESSION).bind(user).bind(session).bind(before);
            query.bind(agent).bind(round)
        }
        (None, agent) => {
            let (session, after, round) = cursor.unwrap_or(("", END, 0));
            let query = sqlx::query(sql::HEADS_OF_USER).bind(user).bind(agent).bind(before);
            query.bind(session).bind(after).bind(round)
        }
    };
    let mut transaction = connection.begin().await?;
    let rows = run(&mut transaction, statement.bind(limit)).await?;
    let seen = if rows.len() > query.limit { ListPart::Middle } else { ListPart::End };
    UserCount::Rounds.compare(&mut transaction, &query.user, seen).await?;
    transaction.commit().await?;
    let items =
        rows.iter().take(query.limit).map(|row| head_of(row, 0)).collect::<Result<Vec<_>>>()?;
    let mut order = KeyOrder::after("rounds", "round", after);
    for head in &items {
        let RoundRef { agent, round } = &head.round;
        let of_session = query.session.as_ref().is_none_or(|session| *session == agent.session);
        let of_agent = query.agent.is_none_or(|number| number == agent.agent);
        if agent.user != query.user || !of_session || !of_agent {
            return Err(DIFFERS);
        }
        order.next((
            agent.session.as_str().to_owned(),
            i64::from(agent.agent),
            Reverse(i64::from(*round)),
        ))?;
    }
    let next = items.last().filter(|_| rows.len() > query.limit).map(|last| last.round.cursor());
    Ok(Page { items, next })
}

/// Returns the nodes that are linked to a message.
pub(crate) async fn of_message(
    connection: &mut SqliteConnection,
    user: &UserId,
    chat: &ChatId,
    message: &MessageId,
) -> Result<Vec<MessageNode>> {
    let mut transaction = connection.begin().await?;
    let query = sqlx::query(sql::NODES_OF_MESSAGE).bind(user.as_str()).bind(chat.as_str());
    let rows = run(&mut transaction, query.bind(message.as_str())).await?;
    UserCount::Links.compare(&mut transaction, user, ListPart::Middle).await?;
    // A node may be linked to a message more than once.
    let most = if rows.is_empty() { 0 } else { i64::MAX };
    let beside = sqlx::query(crate::sql::LINKS_BESIDE).bind(user.as_str()).bind(chat.as_str());
    counts::check_neighbours(&mut transaction, beside.bind(message.as_str()).bind(most)).await?;
    transaction.commit().await?;
    let node = |row: &SqliteRow| {
        // The driver would read NULL as an empty text or as zero.
        let session = row.try_get::<Option<&str>, _>(0)?;
        let session = session.ok_or(Fault::Corrupt("the round of a node is missing", None))?;
        let agent = AgentRef::new(user.clone(), session, row.try_get(1)?);
        Ok(MessageNode::new(agent, NodeId::new(row.try_get(2)?, row.try_get(3)?)))
    };
    rows.iter().map(node).collect()
}

/// Removes rounds and returns what was removed.
pub(crate) async fn prune(writer: &mut Writer, prune: &RoundPrune) -> Result<RoundsPruned> {
    let mut transaction = writer.begin().await?;
    let bound = |statement| {
        let query = sqlx::query(statement).bind(prune.user.as_str());
        let query = query.bind(prune.session.as_ref().map(|session| session.as_str()));
        query.bind(prune.agent.map(i64::from)).bind(prune.updated_until.map(Timestamp::as_micros))
    };
    let row = bound(sql::PRUNED_ROUNDS).fetch_one(&mut *transaction).await?;
    let mut pruned = RoundsPruned::default();
    (pruned.rounds, pruned.nodes) = (count(row.try_get(0)?)?, count(row.try_get(1)?)?);
    bound(sql::PRUNE_ROUNDS).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(pruned)
}

/// Deletes a few rounds of a user that have about this many nodes together, at least one round.
/// Returns how many rounds were deleted.
pub(crate) async fn erase_some(
    connection: &mut SqliteConnection,
    user: &UserId,
    nodes: i64,
) -> Result<i64> {
    let mut gone = Vec::new();
    let mut left = nodes;
    for row in run(connection, sqlx::query(sql::ROUNDS_OF).bind(user.as_str())).await? {
        left -= row.try_get::<i64, _>(1)?;
        if left < 0 && !gone.is_empty() {
            break;
        }
        gone.push(row.try_get::<i64, _>(0)?);
    }
    run(connection, sqlx::query(sql::DELETE_ROUNDS).bind(json_numbers(gone.iter()))).await?;
    Ok(signed(gone.len()))
}
