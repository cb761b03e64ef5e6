//! The look for messages after those that an engine has, when there mostly are none.
//!
//! A look compares the end of the branch. Only a look that finds another end reads the chain, in a
//! second round trip. While no connection is idle, looks of several chats are one statement.

use context_core::store::{ChainEnd, Window};
use context_core::{BranchName, Chain, ChatRef, MessageId};
use context_store_kit::QueuedCall;
use sqlx::Row;

use crate::connections::together::{Queue, Together, is_alone, numbered, together};
use crate::connections::{Pool, Session, Work};
use crate::error::Result;
use crate::sql;
use crate::values::numbers::{count, signed_count};

/// The question whether a branch still ends with a message.
pub(crate) struct Look {
    chat: ChatRef,
    branch: BranchName,
    message: MessageId,
    generation: u64,
}

impl Together for Look {
    /// The number of messages of the chain.
    type Answer = i64;

    const WORK: Work = Work::Read;

    async fn answer(mut session: Session<'_>, group: Vec<QueuedCall<Self, i64>>) {
        let looks = || group.iter().map(|queued| &queued.call);
        let query = session
            .query(sql::STILL_ENDS)
            .bind(looks().map(|look| look.chat.user.as_str().as_bytes()).collect::<Vec<_>>())
            .bind(looks().map(|look| look.chat.chat.as_str().as_bytes()).collect::<Vec<_>>())
            .bind(looks().map(|look| look.branch.as_str().as_bytes()).collect::<Vec<_>>())
            .bind(looks().map(|look| look.message.as_str().as_bytes()).collect::<Vec<_>>())
            .bind(looks().map(|look| signed_count(look.generation)).collect::<Vec<_>>());
        let rows = session.all(query).await;
        let rows = session.end(rows).await.unwrap_or_default();
        let mut lengths = numbered(&rows, group.len()).into_iter();
        for QueuedCall { answer, .. } in group {
            if let Some(length) = lengths.next().flatten() {
                // The caller may have gone.
                let _ = answer.send(length);
            }
        }
    }
}

/// Returns the empty rest of a chain, if it ends with the message that the window follows.
pub(crate) async fn unchanged(
    pool: &Pool,
    queue: &Queue<Look>,
    chat: &ChatRef,
    end: &ChainEnd,
    window: &Window,
) -> Result<Option<Chain>> {
    let (ChainEnd::Branch(branch), Window::After { message, generation }) = (end, window) else {
        return Ok(None);
    };
    let (branch, message, generation) = (branch.clone(), message.clone(), *generation);
    let look = Look { chat: chat.clone(), branch, message, generation };
    let length = if is_alone(pool, queue) {
        alone(pool, &look).await?
    } else {
        together(pool, queue, look).await?
    };
    let Some(length) = length else { return Ok(None) };
    let chain = Chain::from_nodes(count(length)?, []).with_generation(generation);
    Ok(Some(chain))
}

async fn alone(pool: &Pool, look: &Look) -> Result<Option<i64>> {
    let mut session = pool.begin(Look::WORK, Some(&look.chat.user)).await?;
    let query = session
        .query(sql::STILL_ENDS_ONE)
        .bind(look.chat.user.as_str().as_bytes())
        .bind(look.chat.chat.as_str().as_bytes())
        .bind(look.branch.as_str().as_bytes())
        .bind(look.message.as_str().as_bytes())
        .bind(signed_count(look.generation));
    let row = session.first(query).await;
    session.end(row).await?.map(|row| Ok(row.try_get(0)?)).transpose()
}
