//! Pruning of messages that no branch and no checkpoint reaches any more.
//!
//! A deleted branch has lost its name. Its messages are kept up to the newest one that forks and
//! checkpoints need. The rest is deleted, and the row of the branch together with its last message.
//! The branch from which that row was forked may then be unneeded too, and so on towards the root.

use bytes::Bytes;
use context_core::MessageId;
use context_store_kit::pack;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::chat::branches::Segment;
use crate::chat::runs::runs_from;
use crate::error::{Fault, Result};
use crate::history::unindexed;
use crate::sql;
use crate::values::numbers::signed;
use crate::values::place::{branch_of, own_of, place};
use crate::values::rows::{MISSING, json_ids, length};

/// Prunes a branch that has lost a reference, and then its ancestors. The chat has no tails.
/// Returns how many messages were deleted.
pub(crate) async fn prune(
    connection: &mut SqliteConnection,
    chat: i64,
    branch: i64,
    full_text: bool,
) -> Result<i64> {
    let mut pruned = 0;
    let mut next = Some(branch);
    while let Some(no) = next.take() {
        let row = sqlx::query(sql::PIECE).bind(no).fetch_all(&mut *connection).await?.pop();
        let row = row.ok_or(Fault::Corrupt(
            "the branch that another one was forked from is missing",
            None,
        ))?;
        let segment = Segment::of(&row)?;
        if segment.name.is_some() {
            break;
        }
        let row = sqlx::query(sql::NEEDED).bind(no).bind(chat).fetch_one(&mut *connection).await?;
        let needed = own_of(row.try_get(0)?);
        if needed < segment.own {
            // What is noted to be indexed may be cut in two.
            if full_text && needed > 0 {
                unindexed::index_all(connection).await?;
            }
            cut(connection, chat, &segment, needed).await?;
            pruned += segment.own - needed;
        }
        if needed > 0 {
            sqlx::query(sql::CUT_BRANCH).bind(no).bind(needed).execute(&mut *connection).await?;
        } else {
            sqlx::query(sql::DELETE_BRANCH).bind(no).execute(&mut *connection).await?;
            next = segment.parent.map(branch_of);
        }
    }
    if pruned > 0 {
        sqlx::query(sql::CHANGE_EDITION).bind(chat).execute(connection).await?;
    }
    Ok(pruned)
}

/// Deletes the messages of a branch after the first `keep`, a few runs at a time.
async fn cut(
    connection: &mut SqliteConnection,
    chat: i64,
    segment: &Segment,
    keep: i64,
) -> Result<()> {
    let mut own = keep;
    while own < segment.own {
        let from = place(segment.no, own + 1);
        let runs = runs_from(connection, from, segment.end()).await?;
        let begun = own;
        for (first, data) in runs {
            let front = length(place(segment.no, own + 1) - first)?;
            let gone =
                if front == 0 { data } else { split(connection, first, front, &data).await? };
            let nodes = pack::unpack(&gone)?;
            own += signed(nodes.len());
            let ids: Vec<_> = nodes.into_iter().map(|node| node.id.clone()).collect();
            forget(connection, chat, &ids).await?;
        }
        if own == begun {
            return Err(Fault::Corrupt(MISSING, None));
        }
    }
    let (from, to) = (place(segment.no, keep + 1), segment.end());
    for statement in [sql::FORGET_RUNS, sql::FORGET_BOUNDARIES] {
        sqlx::query(statement).bind(from).bind(to).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Keeps the first messages of a run in place and returns the others.
async fn split(
    connection: &mut SqliteConnection,
    first: i64,
    keep: usize,
    data: &Bytes,
) -> Result<Bytes> {
    let (front, back) = pack::split_at(data, keep)?;
    sqlx::query(sql::REWRITE_RUN).bind(first).bind(front.to_vec()).execute(connection).await?;
    Ok(back)
}

/// Removes messages from the index of ids, together with their earlier revisions.
async fn forget(connection: &mut SqliteConnection, chat: i64, ids: &[MessageId]) -> Result<()> {
    match json_ids(ids.iter()) {
        Some(json) => {
            for statement in [sql::FORGET_NODES, sql::FORGET_REVISIONS_OF] {
                sqlx::query(statement)
                    .bind(chat)
                    .bind(json.as_str())
                    .execute(&mut *connection)
                    .await?;
            }
        }
        None => {
            for id in ids {
                for statement in [sql::FORGET_NODE, sql::FORGET_REVISIONS] {
                    sqlx::query(statement)
                        .bind(chat)
                        .bind(id.as_str())
                        .execute(&mut *connection)
                        .await?;
                }
            }
        }
    }
    Ok(())
}
