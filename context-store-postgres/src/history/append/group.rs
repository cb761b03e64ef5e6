//! Appends to several chats in one statement.
//!
//! The statement passes over what another transaction has locked or changed, so it waits for
//! nobody. Such an append is left to its caller, as are all appends of a statement that fails.
//! Messages that were written already are then recognized by their ids.

use context_core::store::Commit;
use context_core::{ChatRef, MessageId, Timestamp};
use context_store_kit::{PlainAppend, QueuedCall};

use crate::connections::together::{Together, numbered};
use crate::connections::{Flush, Session, Statement, Work};
use crate::history::words::WordColumns;
use crate::sql;
use crate::values::numbers::signed;
use crate::values::rows::weight;

/// An append that can be in one statement with those to other chats.
pub(crate) struct QueuedAppend {
    chat: ChatRef,
    branch: Vec<u8>,
    seen: Option<MessageId>,
    ids: Vec<MessageId>,
    data: Vec<u8>,
    weight: i64,
    at: Timestamp,
    flush: Flush,
    /// The words of the messages at places from 1, if the store indexes them.
    words: Option<WordColumns>,
}

impl QueuedAppend {
    /// Returns the append of a commit, whose packed messages are `data`.
    pub(crate) fn of(
        commit: &Commit,
        append: &PlainAppend<'_>,
        data: Vec<u8>,
        full_text: bool,
    ) -> Self {
        Self {
            chat: commit.chat.clone(),
            branch: append.branch.as_str().into(),
            seen: append.seen.cloned(),
            ids: commit.nodes.iter().map(|node| node.id.clone()).collect(),
            data,
            weight: weight(&commit.nodes),
            at: commit.at,
            flush: Flush::of(commit.durability),
            words: full_text.then(|| WordColumns::of(&commit.chat.user, 1, &commit.nodes)),
        }
    }
}

impl Together for QueuedAppend {
    /// The number of messages that the branch then owns.
    type Answer = i64;

    const WORK: Work = Work::Append;

    fn bytes(&self) -> usize {
        self.data.len()
    }

    fn excludes(&self, other: &Self) -> bool {
        self.chat == other.chat
    }

    async fn answer(mut session: Session<'_>, mut group: Vec<QueuedCall<Self, i64>>) {
        let query = session.query(statement(&group));
        let query = bind(query, &mut group);
        let rows = session.all(query).await;
        let rows = session.end(rows).await.unwrap_or_default();
        let mut own = numbered(&rows, group.len()).into_iter();
        for QueuedCall { answer, .. } in group {
            if let Some(own) = own.next().flatten() {
                // The caller may have gone.
                let _ = answer.send(own);
            }
        }
    }
}

/// Binds one row for each append, and one for each of their messages.
fn bind(statement: Statement, group: &mut [QueuedCall<QueuedAppend, i64>]) -> Statement {
    let mut words: Option<(Vec<i64>, WordColumns)> = None;
    for (n, queued) in (1_i64..).zip(&mut *group) {
        if let Some(of_call) = queued.call.words.take() {
            let (owners, all) = words.get_or_insert_default();
            owners.resize(owners.len() + of_call.len(), n);
            all.append(of_call);
        }
    }
    let calls = || group.iter().map(|queued| &queued.call);
    let owners = (1_i64..).zip(calls()).flat_map(|(n, call)| call.ids.iter().map(move |_| n));
    let numbers = calls().flat_map(|call| (1_i64..).zip(&call.ids).map(|(k, _)| k));
    let statement = statement
        .bind(calls().map(|call| call.chat.user.as_str().as_bytes()).collect::<Vec<_>>())
        .bind(calls().map(|call| call.chat.chat.as_str().as_bytes()).collect::<Vec<_>>())
        .bind(calls().map(|call| &call.branch[..]).collect::<Vec<_>>())
        .bind(calls().map(|call| call.seen.as_ref().map(bytes_of)).collect::<Vec<_>>())
        .bind(calls().map(|call| call.ids.last().map(bytes_of)).collect::<Vec<_>>())
        .bind(calls().map(|call| &call.data[..]).collect::<Vec<_>>())
        .bind(calls().map(|call| call.weight).collect::<Vec<_>>())
        .bind(calls().map(|call| signed(call.ids.len())).collect::<Vec<_>>())
        .bind(calls().map(|call| call.at.as_micros()).collect::<Vec<_>>())
        .bind(calls().flat_map(|call| call.ids.iter().map(bytes_of)).collect::<Vec<_>>())
        .bind(owners.collect::<Vec<_>>())
        .bind(numbers.collect::<Vec<_>>());
    match words {
        Some((owners, words)) => words.bind(statement.bind(owners)),
        None => statement,
    }
}

fn bytes_of(id: &MessageId) -> &[u8] {
    id.as_str().as_bytes()
}

/// Returns the statement that is as durable as the append that asks for the most.
fn statement(group: &[QueuedCall<QueuedAppend, i64>]) -> &'static str {
    let full_text = group.iter().any(|queued| queued.call.words.is_some());
    let asks = |flush| group.iter().any(|queued| queued.call.flush == flush);
    match (full_text, asks(Flush::Awaited), asks(Flush::Configured)) {
        (false, true, _) => sql::APPEND_GROUP_FLUSHED,
        (false, false, true) => sql::APPEND_GROUP,
        (false, false, false) => sql::APPEND_GROUP_UNFLUSHED,
        (true, true, _) => sql::APPEND_GROUP_WORDS_FLUSHED,
        (true, false, true) => sql::APPEND_GROUP_WORDS,
        (true, false, false) => sql::APPEND_GROUP_WORDS_UNFLUSHED,
    }
}
