//! Pruning of messages that no branch and no checkpoint reaches any more.
//!
//! A deleted branch has lost its name. Its messages are kept up to the newest one that forks and
//! checkpoints need. The rest is deleted, and the row of the branch together with its last message.
//! The branch from which that row was forked may then be unneeded too, and so on towards the root.

use bytes::Bytes;
use context_store_kit::pack;
use sqlx::Row;

use crate::error::{Fault, Result};
use crate::history::messages::{Piece, runs_from};
use crate::place::{branch_of, own_of, place, signed};
use crate::pool::Session;
use crate::rows::{MISSING, ids, length, weight};
use crate::sql;

/// Prunes a branch that has lost a reference, and then its ancestors. Returns how many messages
/// were deleted.
pub(crate) async fn prune(session: &mut Session<'_>, chat: i64, branch: i64) -> Result<i64> {
    let mut pruned = 0;
    let mut next = Some(branch);
    while let Some(no) = next.take() {
        let query = session.query(sql::PIECE).bind(no);
        let row =
            session.first(query).await?.ok_or(Fault::Corrupt("a branch forks from none", None))?;
        let piece = Piece::of(&row)?;
        if piece.name.is_some() {
            break;
        }
        let query = session.query(sql::NEEDED).bind(no).bind(chat);
        let needed = own_of(session.only(query).await?.try_get(0)?);
        if needed < piece.own {
            cut(session, chat, &piece, needed).await?;
            pruned += piece.own - needed;
        }
        if needed > 0 {
            let cut = session.query(sql::CUT_BRANCH).bind(no).bind(needed);
            session.execute(cut).await?;
        } else {
            let delete = session.query(sql::DELETE_BRANCH).bind(no);
            session.execute(delete).await?;
            next = piece.parent.map(branch_of);
        }
    }
    if pruned > 0 {
        let change = session.query(sql::CHANGE_EDITION).bind(chat);
        session.execute(change).await?;
    }
    Ok(pruned)
}

/// Deletes the messages of a branch after the first `keep`, a few runs at a time.
async fn cut(session: &mut Session<'_>, chat: i64, piece: &Piece, keep: i64) -> Result<()> {
    let mut own = keep;
    while own < piece.own {
        let from = place(piece.no, own + 1);
        let runs = runs_from(session, from, piece.end()).await?;
        let begun = own;
        for (first, data) in runs {
            let front = length(place(piece.no, own + 1) - first)?;
            let gone = if front == 0 { data } else { split(session, first, front, &data).await? };
            let nodes = pack::unpack(&gone)?;
            own += signed(nodes.len());
            let gone = ids(nodes.iter().map(|node| &node.id));
            for statement in [sql::FORGET_NODES, sql::FORGET_REVISIONS] {
                let forget = session.query(statement).bind(chat).bind(&gone);
                session.execute(forget).await?;
            }
        }
        if own == begun {
            return Err(Fault::Corrupt(MISSING, None));
        }
    }
    for statement in [sql::FORGET_RUNS, sql::FORGET_BOUNDARIES, sql::FORGET_WORDS] {
        let forget = session.query(statement).bind(place(piece.no, keep + 1)).bind(piece.end());
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
