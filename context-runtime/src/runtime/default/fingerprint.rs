//! Hashes of history prefixes.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use context_core::message::MessageHash;
use context_core::{Message, Messages};

use super::known_runs::KnownRuns;

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
/// reading them, or else by their content. Messages are not kept alive.
#[derive(Clone, Debug, Default)]
pub(super) struct PrefixFingerprint {
    /// The weak pointers prevent the addresses from being reused.
    seen: Vec<Weak<Message>>,
    runs: KnownRuns,
    chain: ChainHash,
}

impl PrefixFingerprint {
    /// Records these messages in place of earlier ones, given the hash of the first `known` of
    /// them.
    pub(super) fn follow(&mut self, messages: &Messages, (known, chain): (usize, ChainHash)) {
        self.seen.truncate(self.shared(messages));
        self.seen.extend(messages.range(self.seen.len()..).map(Arc::downgrade));
        self.runs.follow(messages);
        self.chain = chain.then_all(messages.range(known..));
    }

    /// Returns the number of messages and their hash, if a history begins with the very same
    /// allocations.
    pub(super) fn known_in(&self, messages: &Messages) -> Option<(usize, ChainHash)> {
        (self.shared(messages) == self.len()).then_some((self.len(), self.chain))
    }

    /// Returns how many leading messages are the same allocations.
    fn shared(&self, messages: &Messages) -> usize {
        shared(&self.seen, &self.runs, messages)
    }

    /// The number of messages.
    pub(super) fn len(&self) -> usize {
        self.seen.len()
    }

    /// Returns the end of the known part of a history: the position after the newest message that
    /// is in both, as the same allocation.
    pub(super) fn reaches(&self, messages: &Messages) -> usize {
        let seen: HashSet<_> = self.seen.iter().map(Weak::as_ptr).collect();
        messages
            .iter()
            .rposition(|message| seen.contains(&Arc::as_ptr(message)))
            .map_or(0, |last| last + 1)
    }

    /// Whether a history begins with this prefix.
    pub(super) fn begins(&self, messages: &Messages) -> bool {
        let content = || ChainHash::default().then_all(messages.range(..self.len()));
        self.known_in(messages).is_some() || messages.len() >= self.len() && content() == self.chain
    }
}

/// Returns how many leading messages of a conversation are those that were seen, as the same
/// allocations.
pub(super) fn shared(seen: &[Weak<Message>], runs: &KnownRuns, messages: &Messages) -> usize {
    let known = runs.shared(messages).min(seen.len());
    let same =
        |(seen, message): &(&Weak<Message>, &Arc<Message>)| seen.as_ptr() == Arc::as_ptr(message);
    known + seen[known..].iter().zip(messages.range(known..)).take_while(same).count()
}
