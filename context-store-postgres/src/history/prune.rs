//! Pruning of messages that no branch and no checkpoint reaches any more.
//!
//! A deleted branch has lost its name. Its messages are kept up to the newest one that forks and
//! checkpoints need. The rest is deleted, and the row of the branch together with its last message.
//! The branch from which that row was forked may then be unneeded too, and so on towards the root.

use bytes::Bytes;
use context_store_kit::pack;
use sqlx::Row;

use crate::chat::branches::Segment;
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::history::messages::runs_from;
use crate::sql;
use crate::values::numbers::signed;
use crate::values::place::{branch_of, own_of, place};
use crate::values::rows::{MISSING, ids, length, weight};

/// Prunes a branch that has lost a reference, and then its ancestors. Returns how many messages
/// were deleted.
pub(crate) async fn prune(session: &mut Session<'_>, chat: i64, branch: i64) -> Result<i64> {
    let mut pruned = 0;
    let mut next = Some(branch);
    while let Some(no) = next.take() {
        let query = session.query(sql::SEGMENT).bind(no);
        let row = session
            .first(query)
            .await?
            .ok_or(Fault::Corrupt("the parent of a branch does not exist", None))?;
        let segment = Segment::of(&row)?;
        if segment.name.is_some() {
            break;
        }
        let query = session.query(sql::NEEDED).bind(no).bind(chat);
        let needed = own_of(session.only(query).await?.try_get(0)?);
        if needed < segment.own {
            cut(session, chat, &segment, needed).await?;
            pruned += segment.own - needed;
        }
        if needed > 0 {
            let cut = session.query(sql::CUT_BRANCH).bind(no).bind(needed);
            session.execute(cut).await?;
        } else {
            let delete = session.query(sql::DELETE_BRANCH).bind(no);
            session.execute(delete).await?;
            next = segment.parent.map(branch_of);
        }
    }
    if pruned > 0 {
        let change = session.query(sql::CHANGE_GENERATION).bind(chat);
        session.execute(change).await?;
    }
    Ok(pruned)
}

/// Deletes the messages of a branch after the first `keep`, a few runs at a time.
async fn cut(session: &mut Session<'_>, chat: i64, segment: &Segment, keep: i64) -> Result<()> {
    let mut own = keep;
    while own < segment.own {
        let from = place(segment.no, own + 1);
        let runs = runs_from(session, from, segment.end()).await?;
        let begun = own;
        for (first, data) in runs {
            let front = length(place(segment.no, own + 1) - first)?;
            let removed =
                if front == 0 { data } else { split(session, first, front, &data).await? };
            let nodes = pack::unpack(&removed)?;
            own += signed(nodes.len());
            let removed = ids(nodes.iter().map(|node| &node.id));
            for statement in [sql::FORGET_NODES, sql::FORGET_REVISIONS] {
                let forget = session.query(statement).bind(chat).bind(&removed);
                session.execute(forget).await?;
            }
        }
        if own == begun {
            return Err(Fault::Corrupt(MISSING, None));
        }
    }
    for statement in [sql::FORGET_RUNS, sql::FORGET_BOUNDARIES, sql::FORGET_WORDS] {
        let forget = session.query(statement).bind(place(segment.no, keep + 1)).bind(segment.end());
        session.execute(forget).await?;
    }
    Ok(())
}

/// Keeps the first messages of a run in place and returns the others.
async fn split(session: &mut Session<'_>, first: i64, keep: usize, data: &Bytes) -> Result<Bytes> {
    let (front, back) = pack::split_at(data, keep)?;
    let left = weight(&pack::unpack(&front)?);
    let rewrite = session.query(sql::REWRITE_RUN).bind(first).bind(&front[..]).bind(left);
    session.execute(rewrite).await?;
    Ok(back)
}
