//! A branch and its requests.

use std::collections::HashMap;

use context_core::message::NodeKind;
use context_core::{Chain, MessageId, Role, Timestamp};
use serde::Serialize;

/// A request of a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RequestEntry {
    /// The number, from 1.
    pub number: usize,
    /// The number of the user's requests so far.
    pub turn: usize,
    /// The answer. `None` for the next request, which was not answered yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<MessageId>,
    /// The newest message of the history that was sent.
    pub newest: MessageId,
    /// The time of the newest message, which is taken for the time of the request.
    pub at: Timestamp,
    /// The number of nodes of the chain before the answer.
    pub(super) end: usize,
}

/// A whole branch with its requests. Bodies are not parsed.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) chain: Chain,
    pub(super) requests: Vec<RequestEntry>,
    pub(super) positions: HashMap<MessageId, usize>,
    pub(super) has_boundaries: bool,
    by_answer: HashMap<MessageId, usize>,
}

impl Branch {
    pub(super) fn new(chain: &Chain) -> Self {
        let mut branch = Self {
            chain: chain.clone(),
            requests: Vec::new(),
            positions: HashMap::with_capacity(chain.len()),
            has_boundaries: false,
            by_answer: HashMap::new(),
        };
        let mut turn = 0;
        // The newest message that a model is shown, and whether it is an answer.
        let mut newest: Option<(usize, Role)> = None;
        for (position, node) in chain.iter().enumerate() {
            branch.positions.insert(node.id.clone(), position);
            branch.has_boundaries |= node.kind == NodeKind::Boundary;
            let Some(role) = node.role().filter(|_| node.is_shown()) else { continue };
            turn += usize::from(node.is_turn());
            if role == Role::Assistant
                && let Some((before, _)) = newest
            {
                branch.by_answer.insert(node.id.clone(), branch.requests.len() + 1);
                branch.push(turn, Some(position), before);
            }
            newest = Some((position, role));
        }
        if let Some((before, role)) = newest
            && role != Role::Assistant
        {
            branch.push(turn, None, before);
        }
        branch
    }

    fn push(&mut self, turn: usize, answer: Option<usize>, newest: usize) {
        let end = answer.unwrap_or(self.chain.len());
        let (answer, newest) = (answer.map(|at| &self.chain[at]), &self.chain[newest]);
        self.requests.push(RequestEntry {
            number: self.requests.len() + 1,
            turn,
            answer: answer.map(|node| node.id.clone()),
            at: newest.created_at,
            newest: newest.id.clone(),
            end,
        });
    }

    /// Returns the number of the request that a message answers.
    pub(super) fn request_of(&self, answer: &MessageId) -> Option<usize> {
        self.by_answer.get(answer).copied()
    }

    /// Returns the number of the first request that had a message.
    pub(super) fn request_with(&self, message: &MessageId) -> Option<usize> {
        let position = self.chain.position(message)?;
        let at = self.requests.partition_point(|request| request.end <= position);
        (at < self.requests.len()).then_some(at + 1)
    }

    /// Returns the end of the nodes that belong to a request and its answer: the end of the history
    /// of the next request.
    pub(super) fn next_end(&self, number: usize) -> usize {
        self.requests.get(number).map_or(self.chain.len(), |next| next.end)
    }
}
