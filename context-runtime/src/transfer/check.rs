//! Checks that the sequence of records of a chat is a sound chat. Finds what a store's own check
//! would find, before anything is written. Holds only the ids of the chat in memory.

use std::collections::{HashMap, HashSet};

use context_core::base::display::shown;
use context_core::base::{BlobId, CheckpointName, FragmentId, sealed};
use context_core::history::StoredBoundary;
use context_core::message::NodeKind;
use context_core::{BranchName, MessageId, Role};

use super::record::{ChatMessageRecord, ChatRecord};

/// The reason why the records of a file are not a sound chat.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unsound {
    #[error("a chat begins before the end of the chat before it")]
    Begun,
    #[error("{} occurs twice", shown(.0))]
    Twice(String),
    #[error(
        "message {} follows {}, which does not come before it",
        shown(.message), shown(.parent)
    )]
    Parent { message: MessageId, parent: MessageId },
    #[error("message {} has revisions that do not follow each other", shown(.0))]
    Revisions(MessageId),
    #[error("the body of message {} cannot be read: {}", shown(.message), shown(.reason))]
    Body { message: MessageId, reason: String },
    #[error("message {} is stored as {filed}, but its body states {role}", shown(.message))]
    Role { message: MessageId, filed: &'static str, role: &'static str },
    #[error("branch {} ends at {}, which is not a message of the chat", shown(.branch), shown(.head))]
    Head { branch: BranchName, head: MessageId },
    #[error(
        "checkpoint {} points to {}, which is not a message of the chat",
        shown(.checkpoint), shown(.message)
    )]
    Checkpoint { checkpoint: CheckpointName, message: MessageId },
    #[error("the active branch {} does not exist", shown(.0))]
    Active(BranchName),
    #[error("message {} is reached by no branch and no checkpoint", shown(.0))]
    Unreached(MessageId),
    #[error("{announced} messages were announced, {came} arrived")]
    Count { announced: u64, came: u64 },
}

/// A problem and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) line: u64,
    pub(super) problem: Unsound,
}

/// Checks the records of one chat in their order.
pub(super) struct ChatCheck {
    active: BranchName,
    line: u64,
    branches: Vec<(BranchName, Option<MessageId>, u64)>,
    checkpoints: Vec<(CheckpointName, MessageId, u64)>,
    names: UsedNames,
    ids: HashMap<MessageId, usize>,
    /// The parent and the line of each message, in order.
    parents: Vec<(Option<usize>, u64)>,
}

#[derive(Default)]
struct UsedNames {
    branches: HashSet<BranchName>,
    checkpoints: HashSet<CheckpointName>,
    fragments: HashSet<FragmentId>,
    blobs: HashSet<BlobId>,
}

impl ChatCheck {
    /// Starts the check of a chat with this active branch, at a line.
    pub(super) fn new(active: BranchName, line: u64) -> Self {
        Self {
            active,
            line,
            branches: Vec::new(),
            checkpoints: Vec::new(),
            names: UsedNames::default(),
            ids: HashMap::new(),
            parents: Vec::new(),
        }
    }

    /// Checks the next record, which is on this line.
    pub(super) fn push(&mut self, record: &ChatRecord, line: u64) -> Result<(), Finding> {
        self.next(record, line).map_err(|problem| Finding { line, problem })?;
        match record {
            ChatRecord::End { .. } => self.end(),
            _ => Ok(()),
        }
    }

    fn next(&mut self, record: &ChatRecord, line: u64) -> Result<(), Unsound> {
        let twice = |is_new: bool, kind: &str, name: &dyn std::fmt::Display| match is_new {
            true => Ok(()),
            false => Err(Unsound::Twice(format!("{kind} {name}"))),
        };
        match record {
            ChatRecord::Chat(_) => Err(Unsound::Begun),
            ChatRecord::Branch(branch) => {
                self.branches.push((branch.name.clone(), branch.head.clone(), line));
                twice(self.names.branches.insert(branch.name.clone()), "branch", &branch.name)
            }
            ChatRecord::Checkpoint(point) => {
                self.checkpoints.push((point.name.clone(), point.message.clone(), line));
                twice(self.names.checkpoints.insert(point.name.clone()), "checkpoint", &point.name)
            }
            ChatRecord::Fragment(fragment) => match &fragment.id {
                Some(id) => twice(self.names.fragments.insert(id.clone()), "fragment", id),
                None => Ok(()),
            },
            ChatRecord::Blob(blob) => {
                let id = BlobId::of(&blob.bytes);
                twice(self.names.blobs.insert(id), "blob", &id)
            }
            ChatRecord::Message(message) => self.message(message, line),
            ChatRecord::End { messages } if *messages != self.parents.len() as u64 => {
                Err(Unsound::Count { announced: *messages, came: self.parents.len() as u64 })
            }
            ChatRecord::End { .. } => Ok(()),
        }
    }

    fn message(&mut self, message: &ChatMessageRecord, line: u64) -> Result<(), Unsound> {
        let id = &message.node.id;
        let parent = match &message.parent {
            None => None,
            Some(parent) => match self.ids.get(parent) {
                Some(at) => Some(*at),
                None => {
                    return Err(Unsound::Parent { message: id.clone(), parent: parent.clone() });
                }
            },
        };
        let mut revision = None;
        for node in message.revisions.iter().map(|past| &past.node).chain([&message.node]) {
            if revision.is_some_and(|before: u32| before.checked_add(1) != Some(node.revision)) {
                return Err(Unsound::Revisions(id.clone()));
            }
            revision = Some(node.revision);
        }
        if self.ids.insert(id.clone(), self.parents.len()).is_some() {
            return Err(Unsound::Twice(format!("message {id}")));
        }
        self.parents.push((parent, line));
        Ok(())
    }

    fn end(&self) -> Result<(), Finding> {
        let at = |line: u64, problem| Finding { line, problem };
        let mut next = Vec::new();
        for (branch, head, line) in &self.branches {
            let Some(head) = head else { continue };
            let missing = || Unsound::Head { branch: branch.clone(), head: head.clone() };
            next.push(*self.ids.get(head).ok_or_else(|| at(*line, missing()))?);
        }
        for (checkpoint, message, line) in &self.checkpoints {
            let missing =
                || Unsound::Checkpoint { checkpoint: checkpoint.clone(), message: message.clone() };
            next.push(*self.ids.get(message).ok_or_else(|| at(*line, missing()))?);
        }
        if !self.names.branches.contains(&self.active) {
            return Err(at(self.line, Unsound::Active(self.active.clone())));
        }
        let mut reached = vec![false; self.parents.len()];
        while let Some(message) = next.pop() {
            if !std::mem::replace(&mut reached[message], true) {
                next.extend(self.parents[message].0);
            }
        }
        let Some(lost) = reached.iter().position(|reached| !reached) else { return Ok(()) };
        let id = self.ids.iter().find(|(_, index)| **index == lost).map(|(id, _)| id.clone());
        Err(at(self.parents[lost].1, Unsound::Unreached(id.unwrap_or_else(|| "".into()))))
    }
}

/// Refuses bodies that a store would accept and nobody could read: messages of unknown kind or
/// version, or of another role than the one they are filed under, and damaged boundaries. Bodies
/// sealed by a layer can only be checked by that layer. Boundaries of unknown kinds are kept
/// unchanged.
pub(super) fn check_bodies(message: &ChatMessageRecord) -> Result<(), Unsound> {
    for node in message.revisions.iter().map(|past| &past.node).chain([&message.node]) {
        let unreadable = |error: context_core::base::CodecError| Unsound::Body {
            message: node.id.clone(),
            reason: error.to_string(),
        };
        match node.kind {
            _ if node.body().kind() == sealed::KIND => {}
            NodeKind::Message(filed) => {
                let role = node.message().map_err(unreadable)?.role;
                if role != filed {
                    let (filed, role) = (Role::as_str(filed), Role::as_str(role));
                    return Err(Unsound::Role { message: node.id.clone(), filed, role });
                }
            }
            NodeKind::Boundary if node.body().kind() == StoredBoundary::KIND => {
                StoredBoundary::decode(node.body()).map_err(unreadable)?;
            }
            _ => {}
        }
    }
    Ok(())
}
