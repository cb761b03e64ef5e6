//! Text shared by several formats: names of agents and rounds, captions of nodes, times.

use context_core::Timestamp;
use context_core::trajectory::{FieldValue, TrajectoryNode, TrajectoryNodeKind};

use context_trajectory::{AgentGraph, AgentNode, RoundGraph};

/// Options for [`diagrams`](super::write_dot).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiagramOptions {
    /// The number of characters of a node's content shown below its name. 0 shows names only.
    pub headline: usize,
    /// Whether time runs from left to right instead of from top to bottom.
    pub left_to_right: bool,
}

impl Default for DiagramOptions {
    /// Returns options with eighty characters of content and time from top to bottom.
    fn default() -> Self {
        Self { headline: 80, left_to_right: false }
    }
}

impl DiagramOptions {
    /// Sets the number of characters of a node's content.
    #[must_use]
    pub fn headline(mut self, characters: usize) -> Self {
        self.headline = characters;
        self
    }

    /// Makes time run from left to right.
    #[must_use]
    pub fn left_to_right(mut self) -> Self {
        self.left_to_right = true;
        self
    }
}

/// Returns the display name of an agent.
pub(super) fn agent_name(number: u32) -> String {
    if number == 0 { "main agent".into() } else { format!("sub-agent {number}") }
}

/// Returns the caption of the box around an agent.
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

/// Returns the identifier of a node in a file, of letters, digits and underscores.
pub(super) fn file_id(id: AgentNode) -> String {
    format!("n{}_{}_{}", id.agent, id.node.round, id.node.ordinal)
}

/// Returns the start of a node's content on one line, cut to a number of characters.
pub(super) fn headline(node: &TrajectoryNode, characters: usize) -> String {
    if characters == 0 {
        return String::new();
    }
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

/// Returns the fill and border colours of a kind.
pub(super) fn colours(kind: TrajectoryNodeKind) -> (&'static str, &'static str) {
    match kind {
        TrajectoryNodeKind::Query => ("#fde68a", "#b45309"),
        TrajectoryNodeKind::State => ("#dbeafe", "#1d4ed8"),
        TrajectoryNodeKind::Action => ("#dcfce7", "#15803d"),
        TrajectoryNodeKind::Response => ("#fbcfe8", "#be185d"),
        _ => ("#f3f4f6", "#4b5563"),
    }
}

/// Returns the start time of a node: the measured one, else the time at which it was recorded.
pub(super) fn started(node: &TrajectoryNode) -> Timestamp {
    node.measures.as_ref().and_then(|measures| measures.started_at).unwrap_or(node.created_at)
}

/// Returns whether a node failed: an error was measured, or an action has an output but no success.
pub(super) fn failed(node: &TrajectoryNode) -> bool {
    let failed = || {
        let pending =
            node.body.get("output").is_none_or(|output| output.to_json().as_str() == "\"Pending\"");
        !pending && node.body.get("success") != Some(&FieldValue::Flag(true))
    };
    let error = node.measures.as_ref().is_some_and(|measures| measures.error.is_some());
    error || (node.kind() == TrajectoryNodeKind::Action && failed())
}

/// Returns a time as ISO 8601 in UTC, or `None` beyond the year 9999.
pub(super) fn iso_time(at: Timestamp) -> Option<String> {
    jiff::Timestamp::from_microsecond(at.as_micros()).ok().map(|time| time.to_string())
}
