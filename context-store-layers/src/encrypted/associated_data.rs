//! The associated data of a record: its kind and the row it is in. Both are authenticated with the
//! record, so a record that was moved cannot be decrypted.

use context_core::base::{BlobId, FragmentId, StreamId};
use context_core::message::NodeKind;
use context_core::trajectory::{NodeId, QueueName, RoundRef};
use context_core::{ChatRef, MessageId, UserId};

/// The kind of a record and the row it is in, encoded for the cipher.
#[derive(Clone)]
pub(super) struct AssociatedData(Vec<u8>);

impl AssociatedData {
    fn new(kind: &'static str, parts: &[&[u8]]) -> Self {
        let mut data =
            Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum::<usize>() + 32);
        for part in std::iter::once(&kind.as_bytes()).chain(parts) {
            data.extend_from_slice(&(part.len() as u64).to_le_bytes());
            data.extend_from_slice(part);
        }
        Self(data)
    }

    fn in_chat(kind: &'static str, chat: &ChatRef, rest: &[&[u8]]) -> Self {
        let mut parts = vec![chat.user.as_str().as_bytes(), chat.chat.as_str().as_bytes()];
        parts.extend_from_slice(rest);
        Self::new(kind, &parts)
    }

    pub(super) fn message(chat: &ChatRef, id: &MessageId, kind: NodeKind) -> Self {
        let kind = match kind {
            NodeKind::Message(role) => role.as_str(),
            NodeKind::Boundary => "boundary",
        };
        Self::in_chat("message", chat, &[id.as_str().as_bytes(), kind.as_bytes()])
    }

    /// The key of a user, which a master key encrypts.
    pub(super) fn user_key(user: &UserId) -> Self {
        Self::new("user key", &[user.as_str().as_bytes()])
    }

    pub(super) fn title(chat: &ChatRef) -> Self {
        Self::in_chat("title", chat, &[])
    }

    pub(super) fn metadata(chat: &ChatRef, key: &str) -> Self {
        Self::in_chat("metadata", chat, &[key.as_bytes()])
    }

    /// A value other than a number that was added to metadata.
    pub(super) fn added(chat: &ChatRef, key: &str, path: &[String]) -> Self {
        let mut parts = vec![key.as_bytes()];
        parts.extend(path.iter().map(String::as_bytes));
        Self::in_chat("added", chat, &parts)
    }

    /// A fragment, by its stored id.
    pub(super) fn fragment(chat: &ChatRef, id: &FragmentId) -> Self {
        Self::in_chat("fragment", chat, &[id.as_str().as_bytes()])
    }

    pub(super) fn fragment_metadata(chat: &ChatRef, id: &FragmentId, key: &str) -> Self {
        Self::in_chat("fragment metadata", chat, &[id.as_str().as_bytes(), key.as_bytes()])
    }

    /// The data from which the stored id of a fragment without an id is derived.
    pub(super) fn fragment_name(chat: &ChatRef) -> Self {
        Self::in_chat("fragment name", chat, &[])
    }

    pub(super) fn chunk(chat: &ChatRef, stream: &StreamId, offset: u64) -> Self {
        Self::in_chat("chunk", chat, &[stream.as_str().as_bytes(), &offset.to_le_bytes()])
    }

    pub(super) fn stream_error(chat: &ChatRef, stream: &StreamId) -> Self {
        Self::in_chat("stream error", chat, &[stream.as_str().as_bytes()])
    }

    /// A blob, by the caller's id. It belongs to a user, because the chats of a user share it.
    pub(super) fn blob(user: &UserId, id: &BlobId) -> Self {
        Self::new("blob", &[user.as_str().as_bytes(), id.as_bytes()])
    }

    /// The name of a blob, by the stored id.
    pub(super) fn blob_name(chat: &ChatRef, stored: &BlobId) -> Self {
        Self::in_chat("blob name", chat, &[stored.as_bytes()])
    }

    fn in_round(kind: &'static str, round: &RoundRef, rest: &[&[u8]]) -> Self {
        let RoundRef { agent, round } = round;
        let numbers = [agent.agent.to_le_bytes(), round.to_le_bytes()];
        let mut parts = vec![agent.user.as_str().as_bytes(), agent.session.as_str().as_bytes()];
        parts.extend(numbers.iter().map(|number| &number[..]));
        parts.extend_from_slice(rest);
        Self::new(kind, &parts)
    }

    pub(super) fn round_title(round: &RoundRef) -> Self {
        Self::in_round("round title", round, &[])
    }

    /// A field of a node in its present state.
    pub(super) fn node_field(round: &RoundRef, node: NodeId, name: &str) -> Self {
        Self::in_round("node field", round, &[&node.ordinal.to_le_bytes(), name.as_bytes()])
    }

    /// A field of a node in an earlier version.
    pub(super) fn node_version(round: &RoundRef, node: NodeId, version: u32, name: &str) -> Self {
        let numbers = [node.ordinal.to_le_bytes(), version.to_le_bytes()];
        Self::in_round("node version", round, &[&numbers[0], &numbers[1], name.as_bytes()])
    }

    /// A param of a step, at any position of its queue.
    pub(super) fn step_param(round: &RoundRef, queue: QueueName, step: &str, name: &str) -> Self {
        let parts = [queue.as_str(), step, name].map(str::as_bytes);
        Self::in_round("step param", round, &parts)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
