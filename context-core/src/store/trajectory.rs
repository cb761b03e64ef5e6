//! Trajectories as stores keep them.

use crate::trajectory::AgentRef;
use crate::trajectory::RoundRef;
use std::ops::RangeInclusive;

use async_trait::async_trait;
use serde::Serialize;

use crate::base::{CommitKey, limits, sealed};
use crate::store::{Cursor, Page};
use crate::trajectory::{
    Change, FieldValue, Node, NodeId, RoundHead, RoundRecord, TrajectoryError,
};
use crate::{ChatId, Error, MessageId, Result, SessionId, Timestamp, UserId};

impl RoundRef {
    /// The place of a round in listings.
    pub fn cursor(&self) -> Cursor {
        let place = (&self.agent.session, self.agent.agent, self.round);
        Cursor::new(serde_json::to_string(&place).expect("texts and numbers print as JSON"))
    }
}

/// What is to be written to one round, in one transaction. `Debug` shows how much, not what.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct RoundCommit {
    /// How many commits the round has had before: 0 for one that is not there.
    pub expected: u64,
    /// Names this commit, so that it is known when it is sent again after a lost reply. A name that
    /// nobody else uses.
    pub key: CommitKey,
    /// What was done, in order.
    pub changes: Vec<Change>,
    /// The head that it leaves. Its revision is one above what was expected.
    pub head: RoundHead,
}

impl RoundCommit {
    /// Changes that leave a head.
    pub fn new(key: impl Into<CommitKey>, changes: Vec<Change>, head: RoundHead) -> Self {
        Self { expected: head.revision.saturating_sub(1), key: key.into(), changes, head }
    }

    /// Refuses bad names, wrong numbers and what is too large. What changes do to each other,
    /// stores need not check: who makes them has.
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
        // Databases count in signed numbers.
        for (what, number) in
            [("agent", self.head.round.agent.agent), ("round", self.head.round.round)]
        {
            if i32::try_from(number).is_err() {
                return Err(Error::invalid(OPERATION, "too large")
                    .with("what", what)
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
                for fields in [now, &version.was] {
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

    fn check_node(&self, node: &Node) -> Result<()> {
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

/// What became of a commit to a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum RecordOutcome {
    /// It was written.
    Applied,
    /// It had been written before, and was the round's last; nothing was written now.
    Replayed,
    /// Nothing was written: somebody else wrote to the round.
    Conflict {
        /// How many commits the round has had; 0 if it is not there.
        actual: u64,
    },
}

/// Which rounds are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoundQuery {
    /// Whose.
    pub user: UserId,
    /// Of one session; of all, if there is none.
    pub session: Option<SessionId>,
    /// Of one agent of it; of all, if there is none.
    pub agent: Option<u32>,
    /// Those with a lower number than this.
    pub before: Option<u32>,
    /// How many, from 1 to [`limits::MAX_PAGE`].
    pub limit: usize,
    /// Behind this place.
    pub after: Option<Cursor>,
}

impl RoundQuery {
    /// All rounds of a user.
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

    /// All rounds of an agent.
    pub fn of_agent(agent: &AgentRef) -> Self {
        Self {
            session: Some(agent.session.clone()),
            agent: Some(agent.agent),
            ..Self::of_user(agent.user.clone())
        }
    }

    /// Of one session.
    #[must_use]
    pub fn session(mut self, session: impl Into<SessionId>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Those with a lower number.
    #[must_use]
    pub fn before(mut self, round: u32) -> Self {
        self.before = Some(round);
        self
    }

    /// At most so many.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Behind this place.
    #[must_use]
    pub fn after(mut self, cursor: Option<Cursor>) -> Self {
        self.after = cursor;
        self
    }

    /// Where to begin: behind the round of this session, agent and number.
    pub fn behind(&self) -> Result<Option<(SessionId, u32, u32)>> {
        let Some(cursor) = &self.after else { return Ok(None) };
        serde_json::from_str(cursor.as_str())
            .map(Some)
            .map_err(|_| Error::invalid("rounds", "not a cursor of this listing"))
    }

    /// Refuses bad names, and pages of a wrong size.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "rounds";
        limits::check_id(OPERATION, "user", self.user.as_str())?;
        self.session
            .iter()
            .try_for_each(|session| limits::check_id(OPERATION, "session", session.as_str()))?;
        limits::check_page(OPERATION, self.limit)
    }
}

/// A node that stands for a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[non_exhaustive]
pub struct MessageNode {
    /// The agent.
    #[serde(flatten)]
    pub agent: AgentRef,
    /// Its node.
    pub node: NodeId,
}

impl MessageNode {
    /// A node of an agent.
    pub fn new(agent: AgentRef, node: NodeId) -> Self {
        Self { agent, node }
    }
}

/// Which rounds are removed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoundPrune {
    /// Whose.
    pub user: UserId,
    /// Of one session; of all, if there is none.
    pub session: Option<SessionId>,
    /// Of one agent of it.
    pub agent: Option<u32>,
    /// Only those last written to then or before.
    pub updated_until: Option<Timestamp>,
}

impl RoundPrune {
    /// All rounds of a user.
    pub fn of_user(user: impl Into<UserId>) -> Self {
        Self { user: user.into(), session: None, agent: None, updated_until: None }
    }

    /// Of one session.
    #[must_use]
    pub fn session(mut self, session: impl Into<SessionId>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Of one agent; of all sessions, if none is named.
    #[must_use]
    pub fn agent(mut self, agent: u32) -> Self {
        self.agent = Some(agent);
        self
    }

    /// Only those last written to then or before.
    #[must_use]
    pub fn updated_until(mut self, at: Timestamp) -> Self {
        self.updated_until = Some(at);
        self
    }

    /// Whether a round goes.
    pub fn takes(&self, head: &RoundHead) -> bool {
        let RoundRef { agent, .. } = &head.round;
        agent.user == self.user
            && self.session.as_ref().is_none_or(|session| *session == agent.session)
            && self.agent.is_none_or(|number| number == agent.agent)
            && self.updated_until.is_none_or(|until| head.updated_at <= until)
    }

    /// Refuses bad names.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "prune_rounds";
        limits::check_id(OPERATION, "user", self.user.as_str())?;
        self.session
            .iter()
            .try_for_each(|session| limits::check_id(OPERATION, "session", session.as_str()))
    }
}

/// What a removal of rounds did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RoundsPruned {
    /// How many rounds are gone.
    pub rounds: u64,
    /// How many nodes they had.
    pub nodes: u64,
}

impl RoundsPruned {
    /// Counts one more.
    pub fn count(&mut self, head: &RoundHead) {
        self.rounds += 1;
        self.nodes += u64::from(head.nodes);
    }
}

/// Keeps what happened in runs of agents, round by round.
///
/// Contract with implementors, beside that of [`Store`](crate::Store): a commit is one transaction,
/// applied if the round has had as many commits as expected, and doing what [`RoundRecord::apply`]
/// does. A commit that carries the key of the round's last one, and its revision, is
/// [`Replayed`](RecordOutcome::Replayed). Call [`RoundCommit::check`], [`RoundQuery::check`] and
/// [`RoundPrune::check`] first. What comes back is equal to what went in: times, versions, digits
/// and the order of keys in JSON, any character in any text. Two agents, sessions or users never
/// see each other's rounds.
///
/// Databases have a table for each kind of nodes, with a column for each field, so that people can
/// ask with plain SQL.
#[async_trait]
pub trait TrajectoryStore: Send + Sync {
    /// Writes to a round, creating it with its first commit.
    async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome>;

    /// The rounds of an agent with these numbers that are there, whole, by number; each as it was
    /// at one time. A range over all of them reads all of them: ask for what you look at.
    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> Result<Vec<RoundRecord>>;

    /// The heads of rounds: by session and agent ascending, of each agent the highest round first.
    async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>>;

    /// The nodes that stand for a message of a user's chat, ordered.
    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>>;

    /// Removes rounds.
    async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned>;
}
