//! Hashes of history prefixes.

use std::sync::Arc;

use context_core::message::{MessageHash, SeenMessages};
use context_core::{Message, Messages};

/// The hash of a history prefix: of the messages so far, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ChainHash([u8; 32]);

impl ChainHash {
    /// Returns the hash after one more message.
    #[must_use]
    pub(super) fn then(self, message: &MessageHash) -> Self {
        let mut both = [0; 64];
        both[..32].copy_from_slice(&self.0);
        both[32..].copy_from_slice(message.as_bytes());
        Self(*blake3::hash(&both).as_bytes())
    }

    /// Returns the hash after these messages.
    pub(super) fn then_all<'m>(self, messages: impl Iterator<Item = &'m Arc<Message>>) -> Self {
        messages.fold(self, |chain, message| chain.then(&message.hash()))
    }

    /// The bytes of the hash.
    pub(super) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A history prefix that was seen. It is recognized by the addresses of its messages, without
/// reading them, or else by their content.
#[derive(Clone, Debug, Default)]
pub(super) struct PrefixFingerprint {
    seen: SeenMessages,
    chain: ChainHash,
}

impl PrefixFingerprint {
    /// Records these messages in place of earlier ones, given the hash of the first `known` of
    /// them.
    pub(super) fn follow(&mut self, messages: &Messages, (known, chain): (usize, ChainHash)) {
        self.seen.follow(messages);
        self.chain = chain.then_all(messages.range(known..));
    }

    /// Returns the number of messages and their hash, if a history begins with the very same
    /// allocations.
    pub(super) fn known_in(&self, messages: &Messages) -> Option<(usize, ChainHash)> {
        (self.seen.shared(messages) == self.len()).then_some((self.len(), self.chain))
    }

    /// The number of messages.
    pub(super) fn len(&self) -> usize {
        self.seen.len()
    }

    /// Returns the end of the known part of a history: the position after the newest message that
    /// is in both, as the same allocation.
    pub(super) fn reaches(&self, messages: &Messages) -> usize {
        self.seen.reaches(messages)
    }

    /// Whether a history begins with this prefix.
    pub(super) fn begins(&self, messages: &Messages) -> bool {
        let content = || ChainHash::default().then_all(messages.range(..self.len()));
        self.known_in(messages).is_some() || messages.len() >= self.len() && content() == self.chain
    }
}
