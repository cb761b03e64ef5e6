//! The storage interface of trajectories.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use serde::Serialize;

use crate::base::{CommitKey, limits, sealed};
use crate::store::{Cursor, Page};
use crate::trajectory::{
    AgentRef, Change, FieldValue, NodeId, RoundHead, RoundRecord, RoundRef, TrajectoryError,
    TrajectoryNode,
};
use crate::{ChatId, Error, MessageId, Result, SessionId, Timestamp, UserId};

impl RoundRef {
    /// Returns the cursor of a round in listings.
    pub fn cursor(&self) -> Cursor {
        let position = (&self.agent.session, self.agent.agent, self.round);
        Cursor::new(serde_json::to_string(&position).expect("texts and numbers print as JSON"))
    }
}

/// Changes to one round, written in one transaction. `Debug` shows the number of changes, not their
/// content.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct RoundCommit {
    /// Number of earlier commits of the round: 0 for a round that does not exist.
    pub expected: u64,
    /// An idempotency key that no other commit uses. It identifies a commit that is repeated after
    /// a lost reply.
    pub key: CommitKey,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// The resulting head of the round. Its revision is one higher than `expected`.
    pub head: RoundHead,
}

impl RoundCommit {
    /// Creates a commit from changes and the resulting head.
    pub fn new(key: impl Into<CommitKey>, changes: Vec<Change>, head: RoundHead) -> Self {
        Self { expected: head.revision.saturating_sub(1), key: key.into(), changes, head }
    }

    /// Refuses invalid names and numbers, and values over the limits. Stores need not check that
    /// the changes are consistent with each other: their author has done so.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "record_round";
        self.head.round.agent.check(OPERATION)?;
        limits::check_id(OPERATION, "key", self.key.as_str())?;
        if self.head.revision != self.expected.saturating_add(1) {
            return Err(Error::invalid(
                OPERATION,
                "the head is not one revision above what is expected",
            )
            .with("expected", self.expected)
            .with("revision", self.head.revision));
        }
        // Databases store signed numbers.
        for (name, number) in
            [("agent", self.head.round.agent.agent), ("round", self.head.round.round)]
        {
            if i32::try_from(number).is_err() {
                return Err(Error::invalid(OPERATION, "too large")
                    .with("what", name)
                    .with("limit", i32::MAX));
            }
        }
        limits::check_length(
            OPERATION,
            "changes of a commit",
            self.changes.len(),
            limits::MAX_COMMIT_ITEMS,
        )?;
        limits::check_title(OPERATION, Some(&self.head.title))?;
        self.changes.iter().try_for_each(|change| match change {
            Change::NodeAdded { node } => self.check_node(node),
            Change::EdgeAdded { edge } => {
                let name = sealed::text_length(&edge.name);
                limits::check_length(OPERATION, "name of an edge", name, limits::MAX_ID_BYTES)?;
                self.check_id(edge.from)
            }
            Change::NodeChanged { id, version, now } => {
                for fields in [now, &version.previous] {
                    let bytes = fields.iter().map(|(_, value)| value_length(value)).sum();
                    limits::check_length(
                        OPERATION,
                        "fields of a node",
                        bytes,
                        2 * limits::MAX_BODY_BYTES,
                    )?;
                }
                check_author(version.author.as_deref())?;
                self.check_id(*id)
            }
            Change::NodeRemoved { id } => self.check_id(*id),
        })
    }

    fn check_id(&self, id: NodeId) -> Result<()> {
        if id.round == self.head.round.round && id.ordinal < self.head.next {
            return Ok(());
        }
        Err(TrajectoryError::UnknownNode { node: id.to_string() }.during("record_round"))
    }

    fn check_node(&self, node: &TrajectoryNode) -> Result<()> {
        const OPERATION: &str = "record_round";
        self.check_id(node.id)?;
        limits::check_id(OPERATION, "label", &node.label)?;
        check_author(node.author.as_deref())?;
        limits::check_length(
            OPERATION,
            "messages of a node",
            node.messages.len(),
            limits::MAX_PREDECESSORS,
        )?;
        for link in &node.messages {
            limits::check_id(OPERATION, "chat", link.chat.as_str())?;
            limits::check_id(OPERATION, "message", link.message.as_str())?;
        }
        let description = sealed::text_length(&node.description);
        limits::check_length(OPERATION, "description", description, limits::MAX_BODY_BYTES)?;
        let bytes = node.body.iter().map(|(_, value)| value_length(value)).sum();
        limits::check_length(OPERATION, "fields of a node", bytes, limits::MAX_BODY_BYTES)
    }
}

fn check_author(author: Option<&str>) -> Result<()> {
    limits::check_length("record_round", "author", author.map_or(0, str::len), limits::MAX_ID_BYTES)
}

fn value_length(value: &FieldValue) -> usize {
    match value {
        FieldValue::Text(text) => sealed::text_length(text),
        FieldValue::Flag(_) => 1,
        FieldValue::Json(json) => sealed::json_length(json.as_str()),
    }
}

impl std::fmt::Debug for RoundCommit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { expected, key, changes, head } = self;
        let mut shown = f.debug_struct("RoundCommit");
        shown.field("round", &head.round).field("expected", expected).field("key", key);
        shown.field("changes", &changes.len()).finish()
    }
}

/// The outcome of a commit to a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum RecordOutcome {
    /// The commit was written.
    Applied,
    /// The commit had been written before, as the round's last one. Nothing was written now.
    Replayed,
    /// Nothing was written, because another writer has changed the round.
    Conflict {
        /// The actual number of commits of the round; 0 if the round does not exist.
        actual: u64,
    },
}

/// A query for a listing of rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoundQuery {
    /// The owner of the rounds.
    pub user: UserId,
    /// The session. `None`: all sessions.
    pub session: Option<SessionId>,
    /// The agent. `None`: all agents.
    pub agent: Option<u32>,
    /// If set, only rounds with a lower number.
    pub before: Option<u32>,
    /// The maximum page length, from 1 to [`limits::MAX_PAGE`].
    pub limit: usize,
    /// The cursor of the previous page.
    pub after: Option<Cursor>,
}

impl RoundQuery {
    /// Creates a query for all rounds of a user.
    pub fn of_user(user: impl Into<UserId>) -> Self {
        Self {
            user: user.into(),
            session: None,
            agent: None,
            before: None,
            limit: 100,
            after: None,
        }
    }

    /// Creates a query for all rounds of an agent.
    pub fn of_agent(agent: &AgentRef) -> Self {
        Self {
            session: Some(agent.session.clone()),
            agent: Some(agent.agent),
            ..Self::of_user(agent.user.clone())
        }
    }

    /// Restricts the query to one session.
    #[must_use]
    pub fn session(mut self, session: impl Into<SessionId>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Restricts the query to rounds with a lower number.
    #[must_use]
    pub fn before(mut self, round: u32) -> Self {
        self.before = Some(round);
        self
    }

    /// Sets the maximum page length.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Starts after the previous page.
    #[must_use]
    pub fn after(mut self, cursor: Option<Cursor>) -> Self {
        self.after = cursor;
        self
    }

    /// Parses the cursor into session, agent and round number. The page starts after this round.
    pub fn after_round(&self) -> Result<Option<(SessionId, u32, u32)>> {
        let Some(cursor) = &self.after else { return Ok(None) };
        serde_json::from_str(cursor.as_str())
            .map(Some)
            .map_err(|_| Error::invalid("rounds", "not a cursor of this listing"))
    }

    /// Refuses invalid names and page sizes.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "rounds";
        limits::check_id(OPERATION, "user", self.user.as_str())?;
        self.session
            .iter()
            .try_for_each(|session| limits::check_id(OPERATION, "session", session.as_str()))?;
        limits::check_page(OPERATION, self.limit)
    }
}

/// A node that represents a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[non_exhaustive]
pub struct MessageNode {
    /// The agent.
    #[serde(flatten)]
    pub agent: AgentRef,
    /// The node.
    pub node: NodeId,
}

impl MessageNode {
    /// Creates a reference to a node of an agent.
    pub fn new(agent: AgentRef, node: NodeId) -> Self {
        Self { agent, node }
    }
}

/// A filter for the rounds to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoundPrune {
    /// The owner of the rounds.
    pub user: UserId,
    /// The session. `None`: all sessions.
    pub session: Option<SessionId>,
    /// The agent. `None`: all agents.
    pub agent: Option<u32>,
    /// If set, only rounds that were last written at or before this time.
    pub updated_until: Option<Timestamp>,
}

impl RoundPrune {
    /// Selects all rounds of a user.
    pub fn of_user(user: impl Into<UserId>) -> Self {
        Self { user: user.into(), session: None, agent: None, updated_until: None }
    }

    /// Restricts the removal to one session.
    #[must_use]
    pub fn session(mut self, session: impl Into<SessionId>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Restricts the removal to one agent number, in all sessions if no session is set.
    #[must_use]
    pub fn agent(mut self, agent: u32) -> Self {
        self.agent = Some(agent);
        self
    }

    /// Restricts the removal to rounds that were last written at or before this time.
    #[must_use]
    pub fn updated_until(mut self, at: Timestamp) -> Self {
        self.updated_until = Some(at);
        self
    }

    /// Returns whether a round is removed.
    pub fn takes(&self, head: &RoundHead) -> bool {
        let RoundRef { agent, .. } = &head.round;
        agent.user == self.user
            && self.session.as_ref().is_none_or(|session| *session == agent.session)
            && self.agent.is_none_or(|number| number == agent.agent)
            && self.updated_until.is_none_or(|until| head.updated_at <= until)
    }

    /// Refuses invalid names.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "prune_rounds";
        limits::check_id(OPERATION, "user", self.user.as_str())?;
        self.session
            .iter()
            .try_for_each(|session| limits::check_id(OPERATION, "session", session.as_str()))
    }
}

/// The result of a removal of rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RoundsPruned {
    /// Number of removed rounds.
    pub rounds: u64,
    /// Number of their nodes.
    pub nodes: u64,
}

impl RoundsPruned {
    /// Adds a round to the counts.
    pub fn count(&mut self, head: &RoundHead) {
        self.rounds += 1;
        self.nodes += u64::from(head.nodes);
    }
}

/// Stores the trajectories of agent runs, round by round.
///
/// Contract with implementors, in addition to that of [`Store`](crate::Store): a commit is one
/// transaction. It is applied if the round has had as many commits as expected, with the effect of
/// [`RoundRecord::apply`]. A commit with the key and the revision of the round's last one is
/// [`Replayed`](RecordOutcome::Replayed). Call [`RoundCommit::check`], [`RoundQuery::check`] and
/// [`RoundPrune::check`] first. Rounds are returned exactly as they were written: timestamps,
/// versions, digits and key order of JSON, any character in any text. Two agents, sessions or users
/// never see each other's rounds.
///
/// Databases have one table per kind of node with one column per field, so that trajectories can be
/// queried with plain SQL.
#[async_trait]
pub trait TrajectoryStore: Send + Sync {
    /// Writes to a round. The first commit creates the round.
    async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome>;

    /// Returns the rounds of an agent in this range of numbers that exist, complete and ordered by
    /// number. Each round is a consistent snapshot. A range over all rounds reads all of them, so
    /// ask only for the rounds that are needed.
    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> Result<Vec<RoundRecord>>;

    /// Lists the heads of rounds, ordered by session and agent ascending, and by round number
    /// descending.
    async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>>;

    /// Lists the nodes that represent a message of a user's chat, in order.
    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>>;

    /// Removes the rounds that the filter selects.
    async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned>;
}
