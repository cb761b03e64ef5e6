//! The structure of a conversation: user requests, groups that stay together, a checkpoint in
//! front.

use std::ops::Range;
use std::sync::Arc;

use crate::{Message, Role};

/// The structure of a conversation.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{Message, Part, Role};
/// use context_core::history::Structure;
///
/// let call = Part::tool_call("a", "search", serde_json::json!({}));
/// let talk = [
///     Message::from("A train?"),
///     Message::new(Role::Assistant, [call]),
///     Message::new(Role::Tool, [Part::tool_result("a", "10:05")]),
///     Message::text(Role::Assistant, "At 10:05."),
/// ];
/// let structure = Structure::of(&talk.map(Arc::new));
/// assert_eq!(structure.groups, [0..1, 1..3, 3..4]); // a call stays with its result
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Structure {
    /// Number of leading messages with the role `system`.
    pub system: usize,
    /// Number of checkpoints that follow them.
    pub checkpoints: usize,
    /// Groups of messages that are kept or removed together, in order and without gaps: an
    /// assistant message with the tool messages after it, or any other single message.
    pub groups: Vec<Range<usize>>,
    /// Positions of the user's requests; see [`Message::is_request`].
    pub requests: Vec<usize>,
}

impl Structure {
    /// Determines the structure of messages in one pass.
    pub fn of(messages: &[Arc<Message>]) -> Self {
        let front = Self::front(messages);
        let (system, checkpoints) = (front.start, front.len());
        let mut structure = Self { system, checkpoints, ..Self::default() };
        let mut in_step = false;
        for (position, message) in messages.iter().enumerate() {
            match structure.groups.last_mut() {
                Some(group) if message.role == Role::Tool && in_step => group.end = position + 1,
                _ => structure.groups.push(position..position + 1),
            }
            in_step =
                matches!(message.role, Role::Assistant) || (in_step && message.role == Role::Tool);
            if message.is_request() {
                structure.requests.push(position);
            }
        }
        structure
    }

    /// Returns the positions of the checkpoints in front of messages, behind leading system
    /// messages.
    pub fn front<'m>(messages: impl IntoIterator<Item = &'m Arc<Message>>) -> Range<usize> {
        let (mut system, mut checkpoints) = (0, 0);
        for message in messages {
            match message.role {
                Role::System if checkpoints == 0 => system += 1,
                _ if message.is_checkpoint() => checkpoints += 1,
                _ => break,
            }
        }
        system..system + checkpoints
    }

    /// Returns whether messages begin with a compaction that another provider than this one has
    /// [sealed](crate::message::Text::for_sealed_block).
    pub fn is_sealed_for<'m>(
        messages: impl IntoIterator<Item = &'m Arc<Message>>,
        provider: &str,
    ) -> bool {
        let front = messages.into_iter().skip_while(|message| message.role == Role::System);
        let mut checkpoints = front.take_while(|message| message.is_checkpoint());
        checkpoints.any(|message| message.is_sealed_for(provider))
    }

    /// Returns the start of the conversation after leading system messages and checkpoints.
    pub fn start(&self) -> usize {
        self.system + self.checkpoints
    }

    /// Returns the positions of the first and the newest request.
    pub fn anchors(&self) -> impl Iterator<Item = usize> {
        let newest = self.requests.last().copied();
        let first = self.requests.first().copied().filter(|first| Some(*first) != newest);
        first.into_iter().chain(newest)
    }

    /// Returns the index of the group that contains a message.
    pub fn group_of(&self, position: usize) -> Option<usize> {
        let group = self.groups.partition_point(|group| group.end <= position);
        (group < self.groups.len()).then_some(group)
    }

    /// Splits the messages into turns. A turn begins with a request and ends before the next one.
    /// Messages after the checkpoints and before the first request are a turn, too.
    pub fn turns(&self, messages: usize) -> Vec<Range<usize>> {
        let mut starts: Vec<usize> =
            self.requests.iter().copied().filter(|at| *at >= self.start()).collect();
        if self.start() < messages && starts.first() != Some(&self.start()) {
            starts.insert(0, self.start());
        }
        let ends: Vec<usize> = starts.iter().skip(1).copied().chain([messages]).collect();
        starts.into_iter().zip(ends).map(|(start, end)| start..end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Part;
    use crate::message::Origin;

    #[test]
    fn steps_turns_and_requests_are_told_apart() {
        let messages: Vec<Arc<Message>> = [
            Message::from("so far").with_origin(Origin::Checkpoint),
            Message::text(Role::Assistant, "hello"),
            Message::from("look"),
            Message::new(Role::Assistant, [Part::tool_call("a", "look", serde_json::json!({}))]),
            Message::new(Role::Tool, [Part::tool_result("a", "x")]),
            Message::new(Role::Tool, [Part::tool_result("b", "y")]),
            Message::from("remember").with_origin(Origin::Synthetic),
            Message::from("go on"),
        ]
        .map(Arc::new)
        .to_vec();
        let structure = Structure::of(&messages);
        assert_eq!(structure.checkpoints, 1);
        assert_eq!(structure.groups, [0..1, 1..2, 2..3, 3..6, 6..7, 7..8]);
        assert_eq!(structure.requests, [2, 7]);
        assert_eq!(structure.anchors().collect::<Vec<_>>(), [2, 7]);
        assert_eq!(structure.turns(messages.len()), [1..2, 2..7, 7..8]);
        assert_eq!(structure.group_of(4), Some(3));
        assert_eq!(Structure::of(&[]), Structure::default());
    }
}
