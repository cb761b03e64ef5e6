//! Hashes of history prefixes.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use context_core::Message;
use context_core::message::MessageHash;

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

    /// Returns the hash of these messages.
    pub(super) fn of(messages: &[Arc<Message>]) -> Self {
        Self::default().then_all(messages)
    }

    /// Returns the hash after these messages.
    fn then_all(self, messages: &[Arc<Message>]) -> Self {
        messages.iter().fold(self, |chain, message| chain.then(&message.hash()))
    }

    /// The bytes of the hash.
    pub(super) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A history prefix that was seen. It is recognized by the addresses of its messages, without
/// reading them, or else by their content. Messages are not kept alive.
#[derive(Clone, Debug)]
pub(super) struct PrefixFingerprint {
    /// The weak pointers prevent the addresses from being reused.
    seen: Vec<Weak<Message>>,
    chain: ChainHash,
}

impl PrefixFingerprint {
    /// Creates the prefix of these messages, given the hash of the first `known` of them.
    pub(super) fn of(messages: &[Arc<Message>], (known, chain): (usize, ChainHash)) -> Self {
        let chain = chain.then_all(&messages[known..]);
        Self { seen: messages.iter().map(Arc::downgrade).collect(), chain }
    }

    /// Returns the number of messages and their hash, if a history begins with the very same
    /// allocations.
    pub(super) fn known_in(&self, messages: &[Arc<Message>]) -> Option<(usize, ChainHash)> {
        let begins = messages.len() >= self.len() && self.shares(messages);
        begins.then_some((self.len(), self.chain))
    }

    fn shares(&self, messages: &[Arc<Message>]) -> bool {
        self.seen.iter().zip(messages).all(|(seen, message)| seen.as_ptr() == Arc::as_ptr(message))
    }

    /// The number of messages.
    pub(super) fn len(&self) -> usize {
        self.seen.len()
    }

    /// Returns the end of the known part of a history: the position after the newest message that
    /// is in both, as the same allocation.
    pub(super) fn reaches(&self, messages: &[Arc<Message>]) -> usize {
        let seen: HashSet<_> = self.seen.iter().map(Weak::as_ptr).collect();
        messages
            .iter()
            .rposition(|message| seen.contains(&Arc::as_ptr(message)))
            .map_or(0, |last| last + 1)
    }

    /// Whether a history begins with this prefix.
    pub(super) fn begins(&self, messages: &[Arc<Message>]) -> bool {
        let Some(messages) = messages.get(..self.seen.len()) else { return false };
        self.shares(messages) || ChainHash::of(messages) == self.chain
    }
}
