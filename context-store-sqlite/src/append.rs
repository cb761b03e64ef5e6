//! The fast way in: messages at the end of a branch as one statement.
//!
//! It is taken when this handle knows where the branch ends, which is checked again inside the statement. It
//! decides nothing: whatever is not plainly right is left to the transaction in [`commit`](crate::commit).

use context_core::{BranchName, ChatRef, Commit, Committed, MessageId, NodeKind, Target, pack};
use sqlx::sqlite::SqliteConnection;

use crate::connections::{Writer, run};
use crate::error::Result;
use crate::place::{place, signed};
use crate::sql;

/// The most messages in one run, and the longest run a merge makes.
pub(crate) const RUN: i64 = 64;
/// The messages that are first merged into one run.
const SMALL_RUN: i64 = 16;
/// The most bytes that are packed into one run; a larger message is alone.
pub(crate) const RUN_BYTES: usize = 256 << 10;

/// New messages, packed, ready to be appended.
pub(crate) struct Append {
    at: (ChatRef, BranchName),
    expected: Option<MessageId>,
    first: Option<MessageId>,
    head: MessageId,
    added: i64,
    data: Vec<u8>,
    /// All ids as JSON.
    ids: String,
    time: i64,
}

impl Append {
    /// What of this commit can go the fast way: all or nothing.
    pub(crate) fn of(commit: &Commit) -> Option<Self> {
        let Target::Extend { branch, expected } = &commit.target else { return None };
        let plain = commit.amendments.is_empty()
            && commit.redactions.is_empty()
            && commit.fragments.is_empty()
            && commit.patch.is_none()
            && commit.key.is_none()
            && signed(commit.nodes.len()) <= RUN
            && commit.nodes.iter().all(|node| node.kind != NodeKind::Boundary);
        let last = commit.nodes.last().filter(|_| plain)?;
        let data = pack::pack_all(&commit.nodes);
        let fits = commit.nodes.len() == 1 || data.len() <= RUN_BYTES;
        let ids = json_ids(commit.nodes.iter().map(|node| &node.id))?;
        fits.then(|| Self {
            at: (commit.chat.clone(), branch.clone()),
            expected: expected.clone(),
            first: commit.nodes.first().map(|node| node.id.clone()),
            head: last.id.clone(),
            added: signed(commit.nodes.len()),
            data,
            ids,
            time: commit.at.as_micros(),
        })
    }

    /// Writes, if the branch is known to end where it is expected. Nothing if not, or if the file disagrees.
    pub(crate) async fn run(self, writer: &mut Writer) -> Result<Option<Committed>> {
        let Writer { connection, routes } = writer;
        let Some(route) = routes.0.get_mut(&self.at).filter(|route| route.head == self.expected) else {
            return Ok(None);
        };
        let own = route.own + self.added;
        let merge = Merge::after(route.own, own);
        let to = |statement| sqlx::query(statement).bind(route.branch).bind(route.chat).bind(route.own);
        let name = self.at.1.as_str();
        let query = match (self.added, &self.first) {
            (1, _) if merge == Merge::NONE => {
                to(sql::APPEND_ONE).bind(self.head.as_str()).bind(self.time).bind(self.data).bind(name)
            }
            (2, Some(first)) if merge == Merge::NONE => {
                let query = to(sql::APPEND_TWO).bind(first.as_str()).bind(self.head.as_str());
                query.bind(self.time).bind(self.data).bind(name)
            }
            _ => {
                let query = to(sql::APPEND).bind(own).bind(self.head.as_str()).bind(self.time);
                query.bind(self.ids).bind(self.data).bind(merge.small).bind(merge.large).bind(name)
            }
        };
        if let Err(fault) = run(connection, query).await {
            routes.0.remove(&self.at);
            return if fault.is_refusal() { Ok(None) } else { Err(fault) };
        }
        (route.own, route.head) = (own, Some(self.head.clone()));
        Ok(Some(Committed::new(Some(self.at.1), Some(self.head))))
    }
}

/// Ids as a JSON list for `json_each`; nothing if one has a NUL, at which SQLite's JSON ends a text.
pub(crate) fn json_ids<'a>(ids: impl Iterator<Item = &'a MessageId> + Clone) -> Option<String> {
    if ids.clone().any(|id| id.as_str().contains('\0')) {
        return None;
    }
    serde_json::to_string(&ids.map(MessageId::as_str).collect::<Vec<_>>()).ok()
}

/// Which runs are merged after messages were added: whenever a block of messages is full, the runs that begin
/// in it become one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Merge {
    /// The first message of the small block that is now full.
    pub(crate) small: Option<i64>,
    /// The first message of the large block that is now full.
    pub(crate) large: Option<i64>,
}

impl Merge {
    const NONE: Self = Self { small: None, large: None };

    /// After a branch went from `before` own messages to `after`.
    pub(crate) fn after(before: i64, after: i64) -> Self {
        let full = |block: i64| (after / block > before / block).then(|| before / block * block + 1);
        Self { small: full(SMALL_RUN), large: full(RUN) }
    }

    /// Merges what is due on a branch whose newest run begins with its `last`th message.
    pub(crate) async fn run(self, connection: &mut SqliteConnection, branch: i64, last: i64) -> Result<()> {
        for first in [self.small, self.large].into_iter().flatten() {
            let merge = sqlx::query(sql::MERGE).bind(place(branch, first)).bind(place(branch, last));
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
