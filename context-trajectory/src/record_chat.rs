//! Recording a stored chat with all of its branches.
//!
//! | in the chat | in the session of its name |
//! |---|---|
//! | the branch `main`, or the active one if there is none | agent 0 |
//! | each further branch, in the order of creation | an agent of its own with the rounds after the fork, each described as `Branch` with its name |
//! | a fork | the first round of the branch hangs below the node of the newest message before the fork |
//! | a fork within a turn | the first round repeats the question, and the calls whose results differ, without measurements |
//! | a turn that nodes stand for already, also in another session | nothing: it was recorded by the program that ran it, or by an earlier call |
//!
//! Whether a turn is recorded is decided by the messages that nodes are linked to, and not by
//! numbers. So branches keep their agents when other branches are renamed or deleted, and a session
//! may contain rounds that were recorded live.

mod session_index;

use std::collections::HashSet;

use context_core::store::{ChainEnd, HistoryStore, Window};
use context_core::trajectory::{AgentRef, Measures, ParentNode, Round, RoundState};
use context_core::{BranchName, Chain, ChatRef, MessageId, Node, Result};

use self::session_index::SessionIndex;
use crate::transcript::TranscriptRound;
use crate::{RecordError, RoundImported, SkippedMessage, Trajectories, Transcript};

/// A branch of a chat with its messages, for [`Trajectories::record_chat`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BranchHistory {
    /// The name.
    pub name: BranchName,
    /// The messages from the root on.
    pub chain: Chain,
}

impl BranchHistory {
    /// Creates a branch from its messages.
    pub fn new(name: impl Into<BranchName>, chain: Chain) -> Self {
        Self { name: name.into(), chain }
    }

    /// Reads the branches of a chat completely: `main` first, or the active branch if there is no
    /// `main`, then the others in the order of their creation. Returns
    /// [`NotFound`](context_core::ErrorKind::NotFound) for a chat that does not exist.
    pub async fn read(history: &dyn HistoryStore, chat: &ChatRef) -> Result<Vec<Self>> {
        let mut branches = history.branches(chat).await?;
        let main = BranchName::main();
        let first = branches.iter().position(|branch| branch.name == main);
        let first = first.or_else(|| branches.iter().position(|branch| branch.active));
        if let Some(first) = first {
            // The others keep their order.
            branches[..=first].rotate_right(1);
        }
        let mut read = Vec::with_capacity(branches.len());
        for branch in branches {
            let end = ChainEnd::Branch(branch.name.clone());
            read.push(Self::new(branch.name, history.chain(chat, &end, &Window::Whole).await?));
        }
        Ok(read)
    }
}

/// The outcome of [`Trajectories::record_chat`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct ChatRecorded {
    /// The branches, in the order in which they were given.
    pub branches: Vec<BranchRecorded>,
}

/// The outcome of recording one branch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BranchRecorded {
    /// The name of the branch.
    pub branch: BranchName,
    /// The agent of its newest round in the session. `None` if it has no round there.
    pub agent: Option<u32>,
    /// The node that its first round hangs below.
    pub parent: Option<ParentNode>,
    /// The number of its turns, without those before the fork.
    pub rounds: usize,
    /// The number of rounds written or extended.
    pub recorded: usize,
    /// The number of rounds not written because the session has them with other content.
    pub taken: usize,
    /// The messages that belong to no round although they should.
    pub skipped: Vec<SkippedMessage>,
}

impl ChatRecorded {
    /// Returns the number of turns of all branches.
    pub fn rounds(&self) -> usize {
        self.branches.iter().map(|branch| branch.rounds).sum()
    }

    /// Returns the number of rounds written or extended.
    pub fn recorded(&self) -> usize {
        self.branches.iter().map(|branch| branch.recorded).sum()
    }

    /// Returns the number of rounds not written because the session has them with other content.
    pub fn taken(&self) -> usize {
        self.branches.iter().map(|branch| branch.taken).sum()
    }

    /// Returns the number of messages that belong to no round although they should.
    pub fn skipped(&self) -> usize {
        self.branches.iter().map(|branch| branch.skipped.len()).sum()
    }
}

/// A branch that is being recorded.
struct BranchWriter<'a> {
    trajectories: &'a Trajectories,
    session: &'a mut SessionIndex,
    /// Whether it is the first branch.
    is_main: bool,
    /// The node of the newest message before the fork.
    fork: Option<ParentNode>,
    /// The agent and the number of its newest round.
    newest: Option<(u32, u32)>,
    done: BranchRecorded,
}

impl Trajectories {
    /// Records the turns of a stored chat as rounds of the session that is named after it, the
    /// first branch as the main agent. Calls `measures` for the answers of each branch, with the
    /// number of the branch in `branches`, for model and token usage.
    ///
    /// Idempotent: turns that nodes stand for already are not recorded a second time, whoever
    /// recorded them. A chat that grew, or that has a new branch, adds its new rounds. A call that
    /// failed or was dropped can be repeated.
    ///
    /// Reads all rounds of the session. Do not call it while a turn of the chat is being recorded.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use context_core::{Chain, ChatRef, Message, Node, Role, Timestamp};
    /// use context_core::trajectory::Measures;
    /// use context_store_inmem::InMemoryStore;
    /// use context_trajectory::{BranchHistory, Trajectories};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let node = |id: &str, role, text: &str| {
    ///     Arc::new(Node::new(id, Message::text(role, text), Timestamp::default()))
    /// };
    /// let asked = node("m1", Role::User, "Where is it warm in March?");
    /// let main = Chain::from_nodes(0, [asked.clone(), node("m2", Role::Assistant, "On Madeira.")]);
    /// let again = Chain::from_nodes(0, [asked, node("m3", Role::Assistant, "In Cairo.")]);
    /// let branches = [BranchHistory::new("main", main), BranchHistory::new("main-v2", again)];
    ///
    /// let trajectories = Trajectories::builder(Arc::new(InMemoryStore::default())).build()?;
    /// let chat = ChatRef::new("ada", "trip");
    /// let recorded = trajectories.record_chat(&chat, &branches, |_, _| Measures::default()).await?;
    /// assert_eq!((recorded.recorded(), recorded.branches[1].agent), (2, Some(1)));
    /// let again = trajectories.record_chat(&chat, &branches, |_, _| Measures::default()).await?;
    /// assert_eq!((again.recorded(), again.rounds()), (0, 2));
    /// # Ok::<(), context_trajectory::RecordError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn record_chat(
        &self,
        chat: &ChatRef,
        branches: &[BranchHistory],
        mut measures: impl FnMut(usize, &Node) -> Measures,
    ) -> Result<ChatRecorded, RecordError> {
        let mut session = SessionIndex::load(self, chat).await?;
        let mut seen: HashSet<MessageId> = HashSet::new();
        let mut recorded = ChatRecorded::default();
        for (number, BranchHistory { name, chain }) in branches.iter().enumerate() {
            let shared = chain.iter().take_while(|node| seen.contains(&node.id)).count();
            let (before, own) = (chain.iter().take(shared), chain.iter().skip(shared));
            let above = chain.iter().rev().skip(chain.len() - shared);
            let fork = above.into_iter().find_map(|node| session.node_of(&node.id));
            let measured = |node: &Node| measures(number, node);
            let transcript = Transcript::read_branch(&chat.chat, before, own, measured);
            let before_it = recorded.rounds();
            let mut writer = BranchWriter {
                trajectories: self,
                session: &mut session,
                is_main: number == 0,
                fork,
                newest: None,
                done: BranchRecorded {
                    branch: name.clone(),
                    agent: None,
                    parent: None,
                    rounds: transcript.rounds.len(),
                    recorded: 0,
                    taken: 0,
                    skipped: transcript.skipped,
                },
            };
            writer.write(&transcript.rounds, before_it).await?;
            recorded.branches.push(writer.done);
            seen.extend(chain.iter().skip(shared).map(|node| node.id.clone()));
        }
        Ok(recorded)
    }
}

impl BranchWriter<'_> {
    /// Writes the rounds of the branch, after `before` rounds of other branches.
    async fn write(
        &mut self,
        rounds: &[TranscriptRound],
        before: usize,
    ) -> Result<(), RecordError> {
        let places: Vec<_> = rounds.iter().map(|round| self.session.find(round)).collect();
        // Earlier rounds may have been pruned, and later ones are there.
        let known = places.iter().flatten().next().map(|(agent, _)| *agent);
        let cancel = self.trajectories.cancel();
        for (at, (round, place)) in rounds.iter().zip(places).enumerate() {
            cancel.check("record_chat")?;
            let is_last = at + 1 == rounds.len();
            match place {
                Some(place) => self.extend(round, place, is_last).await?,
                None if self.session.is_elsewhere(self.trajectories, round).await? => {}
                None => self.add(round, known, is_last).await?,
            }
            cancel.report("round", (before + at + 1) as u64);
        }
        self.done.agent = self.newest.map(|(agent, _)| agent);
        Ok(())
    }

    /// Brings a round of the session up to date.
    async fn extend(
        &mut self,
        round: &TranscriptRound,
        place: (u32, u32),
        is_last: bool,
    ) -> Result<(), RecordError> {
        self.newest = Some(place);
        let stored = self.session.round(place);
        let parent = stored.and_then(|stored| stored.head.parent);
        self.done.parent = self.done.parent.or(parent);
        if stored.is_some_and(|stored| stored.head.state == RoundState::Open) {
            return Ok(()); // Its program records it.
        }
        let mut source = round.clone();
        if let Some(stored) = stored {
            source.query = source.query.describe(stored.description.clone());
        }
        match self.import(&source, place, parent, is_last).await? {
            RoundImported::New | RoundImported::Extended => self.done.recorded += 1,
            RoundImported::Taken if !self.session.covers(round, place) => self.done.taken += 1,
            _ => {}
        }
        Ok(())
    }

    /// Adds a round. If a round that stands for no message of the chat has its number, that may be
    /// the same turn, so nothing is written.
    async fn add(
        &mut self,
        round: &TranscriptRound,
        known: Option<u32>,
        is_last: bool,
    ) -> Result<(), RecordError> {
        let new = || if self.is_main { 0 } else { self.session.next_agent() };
        let agent = self.newest.map(|(agent, _)| agent).or(known).unwrap_or_else(new);
        let next = match self.newest {
            Some((newest_of, number)) if newest_of == agent => number.saturating_add(1),
            _ => 0,
        };
        let number = match self.session.round((agent, next)) {
            None => next,
            Some(stored) if stored.is_of_chat => self.session.next_round(agent),
            Some(_) => {
                self.newest = Some((agent, next));
                self.done.taken += 1;
                return Ok(());
            }
        };
        let mut source = round.clone();
        if !self.is_main {
            source.query = source.query.describe(format!("Branch {}", self.done.branch));
        }
        let parent = self.fork.filter(|fork| number == 0 && fork.agent != agent);
        self.done.parent = self.done.parent.or(parent);
        self.newest = Some((agent, number));
        match self.import(&source, (agent, number), parent, is_last).await? {
            RoundImported::Taken => self.done.taken += 1,
            _ => self.done.recorded += 1,
        }
        Ok(())
    }

    async fn import(
        &mut self,
        source: &TranscriptRound,
        (agent, number): (u32, u32),
        parent: Option<ParentNode>,
        is_last: bool,
    ) -> Result<RoundImported, RecordError> {
        let reference = AgentRef { agent, ..self.session.main.clone() }.round(number);
        let mut round = Round::new(reference, source.asked_at);
        if let Some(earlier) = self.session.before((agent, number)) {
            round = round.continuing(earlier);
        }
        if let Some(parent) = parent {
            round = round.below(parent);
        }
        source.build(&mut round, is_last)?;
        let record = round.to_record();
        let imported = self.trajectories.import(&record).await?;
        if imported != RoundImported::Taken {
            self.session.add(&record);
        }
        Ok(imported)
    }
}
