//! The rounds of a session, by the messages of a chat that their nodes stand for.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use context_core::base::limits;
use context_core::store::RoundQuery;
use context_core::trajectory::{AgentRef, NodeId, ParentNode, RoundHead, RoundRecord};
use context_core::{ChatRef, MessageId};

use crate::transcript::TranscriptRound;
use crate::{RecordError, Trajectories};

/// The rounds of the session of a chat.
pub(super) struct SessionIndex {
    pub(super) main: AgentRef,
    chat: ChatRef,
    /// By agent and number.
    rounds: BTreeMap<(u32, u32), IndexedRound>,
    /// The nodes that stand for a message of the chat, by agent.
    nodes: HashMap<MessageId, BTreeSet<(u32, NodeId)>>,
}

/// A round of the session.
pub(super) struct IndexedRound {
    pub(super) head: RoundHead,
    /// The description of its question.
    pub(super) description: Arc<str>,
    /// Whether a node stands for a message of the chat.
    pub(super) is_of_chat: bool,
    /// Whether a node other than the question does.
    has_answers: bool,
}

impl SessionIndex {
    pub(super) async fn load(
        trajectories: &Trajectories,
        chat: &ChatRef,
    ) -> Result<Self, RecordError> {
        let main = AgentRef::from(chat);
        let mut index = Self {
            main: main.clone(),
            chat: chat.clone(),
            rounds: BTreeMap::new(),
            nodes: HashMap::new(),
        };
        let mut agents = BTreeSet::new();
        let query = RoundQuery::of_user(main.user.clone()).session(main.session.clone());
        let mut query = query.limit(limits::MAX_PAGE);
        loop {
            let page = trajectories.rounds(&query).await?;
            agents.extend(page.items.iter().map(|head| head.round.agent.agent));
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        for agent in agents {
            let agent = AgentRef { agent, ..main.clone() };
            let records = trajectories.channels().load(&agent, 0..=i32::MAX as u32).await?;
            records.values().for_each(|record| index.add(record));
        }
        Ok(index)
    }

    /// Adds a round, or its later state.
    pub(super) fn add(&mut self, record: &RoundRecord) {
        let place = (record.head.round.agent.agent, record.head.round.round);
        let (mut is_of_chat, mut has_answers) = (false, false);
        for node in &record.nodes {
            for link in node.messages.iter().filter(|link| link.chat == self.chat.chat) {
                is_of_chat = true;
                has_answers |= record.head.query != Some(node.id.ordinal);
                let nodes = self.nodes.entry(link.message.clone()).or_default();
                nodes.insert((place.0, node.id));
            }
        }
        let query = record.nodes.iter().find(|node| record.head.query == Some(node.id.ordinal));
        let description = query.map(|query| query.description.clone()).unwrap_or_default();
        let head = record.head.clone();
        self.rounds.insert(place, IndexedRound { head, description, is_of_chat, has_answers });
    }

    pub(super) fn round(&self, place: (u32, u32)) -> Option<&IndexedRound> {
        self.rounds.get(&place)
    }

    /// Returns the head of the round before this one.
    pub(super) fn before(&self, (agent, number): (u32, u32)) -> Option<&RoundHead> {
        let before = self.rounds.range((agent, 0)..(agent, number)).next_back();
        before.map(|(_, round)| &round.head)
    }

    pub(super) fn next_agent(&self) -> u32 {
        self.rounds.keys().next_back().map_or(1, |(agent, _)| agent.saturating_add(1))
    }

    pub(super) fn next_round(&self, agent: u32) -> u32 {
        let newest = self.rounds.range((agent, 0)..=(agent, u32::MAX)).next_back();
        newest.map_or(0, |((_, number), _)| number.saturating_add(1))
    }

    /// Returns the newest node that stands for a message. If several agents have one, the first of
    /// them counts: the others repeat it.
    pub(super) fn node_of(&self, message: &MessageId) -> Option<ParentNode> {
        let nodes = self.nodes.get(message)?;
        let (agent, _) = *nodes.first()?;
        let node = nodes.iter().rfind(|(of, _)| *of == agent)?.1;
        Some(ParentNode { agent, node })
    }

    /// Returns the round that stands for the most messages of a turn.
    pub(super) fn find(&self, round: &TranscriptRound) -> Option<(u32, u32)> {
        let mut counts: BTreeMap<(u32, u32), (usize, usize)> = BTreeMap::new();
        for place in round.requests.iter().flat_map(|message| self.places(message)) {
            counts.entry(place).or_default().0 += 1;
        }
        for place in round.answers.iter().flat_map(|message| self.places(message)) {
            counts.entry(place).or_default().1 += 1;
        }
        // The first round of a branch may repeat the question of another one's turn.
        counts.retain(|place, (_, answers)| {
            let repeats =
                |stored: &IndexedRound| stored.head.parent.is_some() && stored.has_answers;
            *answers > 0 || !self.round(*place).is_some_and(repeats)
        });
        let first_of_most =
            counts.into_iter().rev().max_by_key(|(_, (requests, answers))| requests + answers);
        first_of_most.map(|(place, _)| place)
    }

    /// Returns the rounds that stand for a message.
    fn places(&self, message: &MessageId) -> BTreeSet<(u32, u32)> {
        let nodes = self.nodes.get(message).into_iter().flatten();
        nodes.map(|(agent, node)| (*agent, node.round)).collect()
    }

    /// Returns whether a stored round is the record of a turn, in the form of the program that ran
    /// it: its question is that of the turn or a part of it, and each answer has a node.
    pub(super) fn covers(&self, round: &TranscriptRound, place: (u32, u32)) -> bool {
        let asks = self.round(place).is_some_and(|stored| round.text.contains(&*stored.head.title));
        asks && round.answers.iter().all(|answer| self.nodes.contains_key(answer))
    }

    /// Returns whether a round of another session stands for a message of a turn: the chat of a
    /// sub-agent is recorded in the session of the chat that asked it.
    pub(super) async fn is_elsewhere(
        &self,
        trajectories: &Trajectories,
        round: &TranscriptRound,
    ) -> Result<bool, RecordError> {
        let ChatRef { user, chat } = &self.chat;
        for channel in &trajectories.channels().all {
            let store = channel.store()?;
            for message in round.requests.iter().chain(&round.answers) {
                let nodes = store.nodes_of_message(user, chat, message).await?;
                if nodes.iter().any(|node| node.agent.session != self.main.session) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
