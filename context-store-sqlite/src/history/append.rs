//! The fast path of a commit: messages at the end of a branch, as one statement.
//!
//! The fast path is taken when this handle knows where the branch ends. The statement checks that
//! end again. The fast path makes no decisions: every other case is left to the transaction in
//! [`commit`](crate::history::commit).

use context_core::store::{Commit, Committed};
use context_core::{BranchName, ChatRef, MessageId, Node};
use context_store_kit::{pack, plain_append};
use sqlx::Sqlite;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnection};

use crate::connections::Writer;
use crate::connections::branch_ends::BranchEnd;
use crate::error::Result;
use crate::history::words::{MessageWords, Tag};
use crate::sql::{self, run};
use crate::values::numbers::signed;
use crate::values::place::place;
use crate::values::rows::json_ids;

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
    pub(crate) expected: Option<MessageId>,
    pub(crate) head: MessageId,
    pub(crate) added: i64,
    pub(crate) data: Vec<u8>,
    pub(crate) entries: IndexEntries,
    pub(crate) time: i64,
}

/// The ids and words of the new messages, apart from the head.
pub(crate) enum IndexEntries {
    /// One message, or two as in a turn, which fit into one row.
    Few { first: Option<MessageId>, words: [Option<MessageWords>; 2] },
    /// Any number of messages, with ids and words as JSON.
    Many { ids: String, words: Option<String> },
}

impl Append {
    /// Returns the append of a commit that can take the fast path, or `None` for any other commit.
    /// `index` says whether words are needed.
    pub(crate) fn of(commit: &Commit, index: bool) -> Option<Self> {
        let (branch, expected) = plain_append(commit)?;
        let last = commit.nodes.last().filter(|_| signed(commit.nodes.len()) <= RUN)?;
        let data = pack::pack_all(&commit.nodes);
        if commit.nodes.len() > 1 && data.len() > RUN_BYTES {
            return None;
        }
        let tag = index.then(|| Tag::of(&commit.chat.user));
        let words_of = |node: &Node| tag.as_ref()?.words(node);
        let entries = match &commit.nodes[..] {
            [head] => IndexEntries::Few { first: None, words: [None, words_of(head)] },
            [first, head] => IndexEntries::Few {
                first: Some(first.id.clone()),
                words: [words_of(first), words_of(head)],
            },
            nodes => IndexEntries::Many {
                ids: json_ids(nodes.iter().map(|node| &node.id))?,
                words: tag.map(|tag| tag.words_json(nodes.iter().map(AsRef::as_ref))),
            },
        };
        Some(Self {
            at: (commit.chat.clone(), branch.clone()),
            expected: expected.cloned(),
            head: last.id.clone(),
            added: signed(commit.nodes.len()),
            data,
            entries,
            time: commit.at.as_micros(),
        })
    }

    /// Whether several such appends fit into one statement.
    pub(crate) fn is_small(&self) -> bool {
        matches!(self.entries, IndexEntries::Few { .. }) && self.data.len() <= RUN_BYTES
    }

    /// Writes the messages if the branch is known to end where the commit expects. Returns `None`
    /// if it is not known to, or if the file disagrees.
    pub(crate) async fn run(self, writer: &mut Writer) -> Result<Option<Committed>> {
        let Writer { connection, branch_ends, full_text, .. } = writer;
        let Some(route) =
            branch_ends.0.get_mut(&self.at).filter(|route| route.head == self.expected)
        else {
            return Ok(None);
        };
        let own = route.own + self.added;
        let merge = Merge::after(route.own, own);
        let to =
            |statement| sqlx::query(statement).bind(route.branch).bind(route.chat).bind(route.own);
        let (head, time, name) = (self.head.as_str(), self.time, self.at.1.as_str());
        let query = match self.entries {
            IndexEntries::Few { first: None, .. } if merge == Merge::NONE && !*full_text => {
                to(sql::APPEND_ONE).bind(head).bind(time).bind(self.data).bind(name)
            }
            IndexEntries::Few { first: Some(first), .. } if merge == Merge::NONE && !*full_text => {
                to(sql::APPEND_TWO)
                    .bind(first.as_str())
                    .bind(head)
                    .bind(time)
                    .bind(self.data)
                    .bind(name)
            }
            IndexEntries::Few { first, words } => {
                let statement = if *full_text { sql::APPEND_ROW_WORDS } else { sql::APPEND_ROW };
                let row = AppendRow {
                    route,
                    first: first.as_ref(),
                    head,
                    time,
                    data: self.data,
                    merge,
                    name,
                };
                row.bind(sqlx::query(statement), full_text.then_some(words))
            }
            IndexEntries::Many { ids, words } => {
                let statement = if *full_text { sql::APPEND_WORDS } else { sql::APPEND };
                let query = to(statement).bind(own).bind(head).bind(time);
                let query =
                    query.bind(ids).bind(self.data).bind(merge.small).bind(merge.large).bind(name);
                if *full_text { query.bind(words) } else { query }
            }
        };
        if let Err(fault) = run(connection, query).await {
            branch_ends.0.remove(&self.at);
            return if fault.is_refusal() { Ok(None) } else { Err(fault) };
        }
        (route.own, route.head) = (own, Some(self.head.clone()));
        Ok(Some(Committed::new(Some(self.at.1), Some(self.head))))
    }
}

/// A row of `append_row`.
pub(crate) struct AppendRow<'a> {
    /// The end of the branch before this row is appended.
    pub(crate) route: &'a BranchEnd,
    pub(crate) first: Option<&'a MessageId>,
    pub(crate) head: &'a str,
    pub(crate) time: i64,
    pub(crate) data: Vec<u8>,
    pub(crate) merge: Merge,
    pub(crate) name: &'a str,
}

type Insert<'q> = Query<'q, Sqlite, SqliteArguments>;

impl AppendRow<'_> {
    pub(crate) fn bind<'q>(
        self,
        query: Insert<'q>,
        words: Option<[Option<MessageWords>; 2]>,
    ) -> Insert<'q> {
        let BranchEnd { chat, branch, own, .. } = *self.route;
        let query = query.bind(branch).bind(chat).bind(own);
        let query = query.bind(self.first.map(MessageId::as_str)).bind(self.head).bind(self.time);
        let query = query.bind(self.data).bind(self.merge.small).bind(self.merge.large);
        let mut query = query.bind(self.name);
        for words in words.into_iter().flatten() {
            query = match words {
                Some(words) => query.bind(words.column).bind(words.text),
                None => query.bind(NONE).bind(NONE),
            };
        }
        query
    }
}

/// Fills up a statement with empty rows.
pub(crate) fn bind_no_row(mut query: Insert<'_>, full_text: bool) -> Insert<'_> {
    for _ in 0..if full_text { sql::ROW_WORDS_VALUES } else { sql::ROW_VALUES } {
        query = query.bind(NONE);
    }
    query
}

const NONE: Option<i64> = None;

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
