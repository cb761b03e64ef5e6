//! What several formats write alike: names of agents and rounds, captions of nodes, times.

use context_core::Timestamp;
use context_core::trajectory::{FieldValue, Node, NodeKind};

use super::session::{AgentGraph, AgentNode, RoundGraph};

/// What [`diagrams`](super::write_dot) show of a node, and which way they run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiagramOptions {
    /// How many characters of what a node holds stand below its name; 0 shows names alone.
    pub headline: usize,
    /// Whether time runs from left to right, not from top to bottom.
    pub left_to_right: bool,
}

impl Default for DiagramOptions {
    /// Eighty characters, from top to bottom.
    fn default() -> Self {
        Self { headline: 80, left_to_right: false }
    }
}

impl DiagramOptions {
    /// With so many characters of what a node holds.
    #[must_use]
    pub fn headline(mut self, characters: usize) -> Self {
        self.headline = characters;
        self
    }

    /// From left to right.
    #[must_use]
    pub fn left_to_right(mut self) -> Self {
        self.left_to_right = true;
        self
    }
}

/// What an agent is called.
pub(super) fn agent_name(number: u32) -> String {
    if number == 0 { "main agent".into() } else { format!("sub-agent {number}") }
}

/// What the box around an agent is called, and the one around a round.
pub(super) fn agent_caption(agent: &AgentGraph<'_>) -> String {
    agent_name(agent.number())
}

pub(super) fn round_caption(round: &RoundGraph<'_>) -> String {
    let number = round.number();
    match round.missing_before() {
        0 => format!("round {number}"),
        1 => format!("round {number} (round {} is missing)", number - 1),
        missing => {
            format!("round {number} (rounds {} to {} are missing)", number - missing, number - 1)
        }
    }
}

/// The name of a node in a file: letters, digits and underscores.
pub(super) fn file_id(id: AgentNode) -> String {
    format!("n{}_{}_{}", id.agent, id.node.round, id.node.ordinal)
}

/// What a node holds, in so many characters on one line.
pub(super) fn headline(node: &Node, characters: usize) -> String {
    let words = node.body.headline().split_whitespace();
    let mut line = String::new();
    let mut left = characters;
    for word in words {
        let space = usize::from(!line.is_empty());
        if left <= space {
            line.push('…');
            return line;
        }
        if space == 1 {
            line.push(' ');
            left -= 1;
        }
        for c in word.chars() {
            if left == 0 {
                line.push('…');
                return line;
            }
            line.push(c);
            left -= 1;
        }
    }
    line
}

/// The colours of a kind: inside, around.
pub(super) fn colours(kind: NodeKind) -> (&'static str, &'static str) {
    match kind {
        NodeKind::Query => ("#fde68a", "#b45309"),
        NodeKind::State => ("#dbeafe", "#1d4ed8"),
        NodeKind::Action => ("#dcfce7", "#15803d"),
        NodeKind::Response => ("#fbcfe8", "#be185d"),
        _ => ("#f3f4f6", "#4b5563"),
    }
}

/// When a node began: as it was measured, else when it was recorded.
pub(super) fn started(node: &Node) -> Timestamp {
    node.measures.as_ref().and_then(|measures| measures.started_at).unwrap_or(node.created_at)
}

/// Whether it went wrong: an error was measured, or an action has its output and no success.
pub(super) fn failed(node: &Node) -> bool {
    let failed = || {
        let pending =
            node.body.get("output").is_none_or(|output| output.to_json().as_str() == "\"Pending\"");
        !pending && node.body.get("success") != Some(&FieldValue::Flag(true))
    };
    let error = node.measures.as_ref().is_some_and(|measures| measures.error.is_some());
    error || (node.kind() == NodeKind::Action && failed())
}

/// A time as ISO 8601 in UTC. None for one beyond the year 9999.
pub(super) fn iso_time(at: Timestamp) -> Option<String> {
    jiff::Timestamp::from_microsecond(at.as_micros()).ok().map(|time| time.to_string())
}
