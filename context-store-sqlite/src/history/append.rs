//! The fast path of a commit: messages at the end of a branch, as one statement.
//!
//! The fast path is taken when this handle knows where the branch ends, and the append may follow
//! that end. The statement checks the end again, and the messages before the end of a branch stay
//! the same ones, so a graft needs no more than one look at the head that it has seen. The fast
//! path makes no other decisions: every other case is left to the transaction in
//! [`commit`](crate::history::commit).
//!
//! The newest messages of a branch are kept in its own row, its tail, so an append rewrites one
//! page of the file. A tail that is full becomes a run.

use context_core::store::{Commit, Committed};
use context_core::{BranchName, ChatRef, MessageId};
use context_store_kit::{PlainAppend, pack, plain_append};
use sqlx::Sqlite;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnection};

use crate::chat::branches::branch_end;
use crate::chat::tails;
use crate::connections::Writer;
use crate::connections::branch_ends::{BranchEnd, BranchEnds};
use crate::connections::tail::Tail;
use crate::error::Result;
use crate::history::commit::holds;
use crate::history::messages::find;
use crate::sql::{self, run};
use crate::values::numbers::signed;
use crate::values::place::place;

/// The maximum number of messages in a run, and the length of the longest merged run.
pub(crate) const RUN: i64 = 64;
/// The number of messages that are first merged into one run.
const SMALL_RUN: i64 = 16;
/// The maximum number of bytes packed into a run of several messages. A larger message has a run of
/// its own.
pub(crate) const RUN_BYTES: usize = 256 << 10;

/// New messages, packed and ready to be appended.
pub(crate) struct Append {
    pub(crate) at: (ChatRef, BranchName),
    /// The head that the caller saw.
    pub(crate) seen: Option<MessageId>,
    /// Whether the branch may have moved on since.
    pub(crate) grafts: bool,
    head: MessageId,
    pub(crate) added: i64,
    /// The ids as JSON texts with commas between them.
    ids: String,
    /// Whether the messages may be in a tail.
    fits_tail: bool,
    pub(crate) data: Vec<u8>,
    time: i64,
}

impl Append {
    /// Returns the append of a commit that can take the fast path, or `None` for any other commit.
    pub(crate) fn of(commit: &Commit) -> Option<Self> {
        let PlainAppend { branch, seen, grafts, .. } = plain_append(commit)?;
        let last = commit.nodes.last().filter(|_| signed(commit.nodes.len()) <= RUN)?;
        let data = pack::pack_all(&commit.nodes);
        if commit.nodes.len() > 1 && data.len() > RUN_BYTES {
            return None;
        }
        let ids = tails::ids(commit.nodes.iter().map(|node| &node.id))?;
        Some(Self {
            at: (commit.chat.clone(), branch.clone()),
            seen: seen.cloned(),
            grafts,
            head: last.id.clone(),
            added: signed(commit.nodes.len()),
            fits_tail: commit.nodes.iter().all(|node| tails::is_plain(&node.id)),
            ids,
            data,
            time: commit.at.as_micros(),
        })
    }

    /// Whether several such appends fit into one statement.
    pub(crate) fn is_small(&self) -> bool {
        self.data.len() <= RUN_BYTES
    }

    /// Writes the messages if they may follow the end of the branch. Returns `None` if they may
    /// not, or if the file refuses.
    pub(crate) async fn run(self, writer: &mut Writer) -> Result<Option<Committed>> {
        let Writer { connection, branch_ends, .. } = writer;
        let end = end_of(connection, branch_ends, &self).await?;
        let Some(end) = end else { return Ok(None) };
        if !self.may_follow(connection, &end).await? {
            return Ok(None);
        }
        let at = self.at.clone();
        let added = self.added;
        let committed = self.committed(&end);
        let (query, end) = self.bind(sqlx::query(sql::APPEND_ROW), &end);
        if let Err(fault) = run(connection, query).await {
            branch_ends.forget(&at);
            return if fault.is_refusal() { Ok(None) } else { Err(fault) };
        }
        branch_ends.learn(at, end);
        writer.unindexed += added;
        Ok(Some(committed))
    }

    /// Whether the branch ends where the caller saw it end, or has moved on from there and this is
    /// a graft.
    pub(crate) async fn may_follow(
        &self,
        connection: &mut SqliteConnection,
        end: &BranchEnd,
    ) -> Result<bool> {
        match &self.seen {
            seen if *seen == end.head => Ok(true),
            Some(seen) if self.grafts => {
                let found = find(connection, end.chat, std::iter::once(seen)).await?;
                let Some(location) = found.get(seen) else { return Ok(false) };
                holds(connection, end, &self.at.1, location.place).await
            }
            _ => Ok(self.grafts),
        }
    }

    /// Returns the result of this append to a branch that ends at `before`.
    pub(crate) fn committed(&self, before: &BranchEnd) -> Committed {
        let committed = Committed::new(Some(self.at.1.clone()), Some(self.head.clone()));
        committed.with_onto(before.head.clone().filter(|_| self.grafts))
    }

    /// Returns the end of the branch after this append to a branch that ends at `before`.
    pub(crate) fn end(&self, before: &BranchEnd) -> BranchEnd {
        let (_, tail) = self.way(before);
        BranchEnd { own: before.own + self.added, head: Some(self.head.clone()), tail, ..*before }
    }

    /// Returns how the messages are written, and the tail after that.
    fn way(&self, before: &BranchEnd) -> (Way, Tail) {
        let added = (self.data.len(), self.ids.len());
        let head = self.head.as_str().len();
        let fitting = |tail: Option<Tail>| tail.filter(|_| self.fits_tail);
        if let Some(tail) = fitting(before.tail.with(added, head)) {
            return (Way::Tail, tail);
        }
        let empty = before.tail.folded();
        match fitting(empty.begun(added, head)) {
            Some(tail) => (Way::NewTail, tail),
            None => (Way::Run, empty),
        }
    }

    /// Binds the values of a row of `append_row`. Returns the end of the branch after it as well.
    pub(crate) fn bind<'q>(self, query: Insert<'q>, before: &BranchEnd) -> (Insert<'q>, BranchEnd) {
        let (way, tail) = self.way(before);
        let end = self.end(before);
        let merge = if way == Way::Run { Merge::after(before.own, end.own) } else { Merge::NONE };
        let query = query
            .bind(before.branch)
            .bind(before.chat)
            .bind(before.own)
            .bind(before.tail.bytes())
            .bind(way as i64)
            .bind(self.added)
            .bind(self.ids)
            .bind(self.head.as_str().to_owned())
            .bind(self.time)
            .bind(self.data)
            .bind(tail.pad(self.head.as_str().len()))
            .bind(merge.small)
            .bind(merge.large)
            .bind(self.at.1.as_str().to_owned());
        (query, end)
    }
}

/// Returns the end of a branch as this handle knows it. If that is not the end that the caller saw,
/// another handle may have written, and the stored end is returned.
pub(crate) async fn end_of(
    connection: &mut SqliteConnection,
    known: &BranchEnds,
    append: &Append,
) -> Result<Option<BranchEnd>> {
    let fits = |end: &&BranchEnd| end.head == append.seen || append.grafts && append.seen.is_none();
    match known.get(&append.at).filter(fits) {
        Some(end) => Ok(Some(end.clone())),
        None => branch_end(connection, &append.at).await,
    }
}

/// How the messages of an append are written, as `append_row` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Into the tail.
    Tail = 0,
    /// Into a new tail. The old one becomes a run.
    NewTail = 1,
    /// Into a run of their own. The tail becomes a run before it.
    Run = 2,
}

type Insert<'q> = Query<'q, Sqlite, SqliteArguments>;

/// Fills up a statement with empty rows.
pub(crate) fn bind_no_row(query: Insert<'_>) -> Insert<'_> {
    (0..sql::ROW_VALUES).fold(query, |query, _| query.bind(None::<i64>))
}

/// The runs to merge after an append: when a block of messages is full, all runs that begin in it
/// become one run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Merge {
    /// The first message of the small block that is now full.
    pub(crate) small: Option<i64>,
    /// The first message of the large block that is now full.
    pub(crate) large: Option<i64>,
}

impl Merge {
    pub(crate) const NONE: Self = Self { small: None, large: None };

    /// Returns the merges that are due when a branch has grown from `before` own messages to
    /// `after`.
    pub(crate) fn after(before: i64, after: i64) -> Self {
        let full =
            |block: i64| (after / block > before / block).then(|| before / block * block + 1);
        Self { small: full(SMALL_RUN), large: full(RUN) }
    }

    /// Runs the merges on a branch whose newest run begins with its `last`th message.
    pub(crate) async fn run(
        self,
        connection: &mut SqliteConnection,
        branch: i64,
        last: i64,
    ) -> Result<()> {
        for first in [self.small, self.large].into_iter().flatten() {
            let merge =
                sqlx::query(sql::MERGE).bind(place(branch, first)).bind(place(branch, last));
            merge.execute(&mut *connection).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_when_a_block_fills_up() {
        let merge = |small, large| Merge { small, large };
        assert_eq!(Merge::after(14, 15), merge(None, None));
        assert_eq!(Merge::after(15, 16), merge(Some(1), None));
        assert_eq!(Merge::after(14, 18), merge(Some(1), None));
        assert_eq!(Merge::after(16, 17), merge(None, None));
        assert_eq!(Merge::after(255, 256), merge(Some(241), Some(193)));
        assert_eq!(Merge::after(300, 600), merge(Some(289), Some(257)));
    }
}
