//! The index of a session's history, so that a new message only costs the work for that message.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use context_core::message::SeenMessages;
use context_core::model::{TokenCount, TokenCounter};
use context_core::{Message, Messages, Part, Role};

use super::fingerprint::ChainHash;
use super::readable::has_media;

/// The index of a history: for each message its contribution to hash and tokens, and the positions
/// of requests and calls. Messages that are shared with the previous history are recognized by
/// their address and not read.
#[derive(Debug, Default)]
pub(super) struct HistoryIndex {
    seen: SeenMessages,
    chains: Vec<ChainHash>,
    /// The number of tokens up to and including each message.
    sums: Vec<TokenCount>,
    /// The model whose counter made the sums.
    counted_for: String,
    requests: Vec<usize>,
    /// The positions of messages with media.
    media: Vec<usize>,
    /// The position of each call, the digest of its id, and whether the id is new.
    calls: Vec<(usize, u64, bool)>,
    ids: HashSet<u64>,
    /// The number of leading messages that are known to need no repair.
    valid: usize,
    /// The number of leading messages that are unchanged since the last request.
    kept: usize,
}

impl HistoryIndex {
    /// Returns how many leading messages a history shares with this one as the same allocations,
    /// and their hash.
    pub(super) fn known_in(&self, messages: &Messages) -> (usize, ChainHash) {
        let shared = self.seen.shared(messages).min(self.len());
        (shared, self.chain(shared))
    }

    /// Updates the index to a history, counted with the counter of a model.
    pub(super) fn update(&mut self, messages: &Messages, model: &str, counter: &dyn TokenCounter) {
        // A counter that panicked may have left fewer entries than messages.
        let mut shared = self.seen.follow(messages).min(self.len());
        // Equal content in another allocation.
        while let (Some(known), Some(message)) = (self.chains.get(shared), messages.get(shared)) {
            if self.chain(shared).then(&message.hash()) != *known {
                break;
            }
            shared += 1;
        }
        self.cut(shared);
        if self.counted_for != model {
            model.clone_into(&mut self.counted_for);
            self.sums.clear();
            for message in messages.range(..shared) {
                self.add(counter.count_shared(message));
            }
        }
        for message in messages.range(shared..) {
            self.push(message, counter);
        }
    }

    /// Drops everything after this many messages.
    fn cut(&mut self, messages: usize) {
        self.kept = self.kept.min(messages);
        if messages >= self.len() {
            return;
        }
        // The cut may separate a call from its result.
        self.valid = 0;
        self.chains.truncate(messages);
        self.sums.truncate(messages);
        self.requests.truncate(self.requests.partition_point(|at| *at < messages));
        self.media.truncate(self.media.partition_point(|at| *at < messages));
        for (_, id, is_new) in
            self.calls.drain(self.calls.partition_point(|call| call.0 < messages)..)
        {
            if is_new {
                self.ids.remove(&id);
            }
        }
    }

    fn push(&mut self, message: &Arc<Message>, counter: &dyn TokenCounter) {
        let position = self.len();
        let hash = message.hash();
        let chain = self.chain(position).then(&hash);
        self.add(counter.count_hashed(message, &hash));
        self.chains.push(chain);
        if message.is_request() {
            self.requests.push(position);
        }
        if has_media(message) {
            self.media.push(position);
        }
        for id in calls(message).map(digest) {
            let is_new = self.ids.insert(id);
            self.calls.push((position, id, is_new));
        }
    }

    fn add(&mut self, tokens: TokenCount) {
        let before = self.sums.last().copied().unwrap_or_default();
        self.sums.push(before + tokens);
    }

    /// The number of messages.
    pub(super) fn len(&self) -> usize {
        self.chains.len()
    }

    /// Returns the hash of this many leading messages.
    pub(super) fn chain(&self, messages: usize) -> ChainHash {
        messages.checked_sub(1).and_then(|last| self.chains.get(last)).copied().unwrap_or_default()
    }

    /// Returns the tokens of this many leading messages.
    pub(super) fn tokens(&self, messages: usize) -> TokenCount {
        messages.checked_sub(1).and_then(|last| self.sums.get(last)).copied().unwrap_or_default()
    }

    /// Returns the tokens of each message.
    pub(super) fn counts(&self) -> impl Iterator<Item = TokenCount> {
        let before = std::iter::once(TokenCount::ZERO).chain(self.sums.iter().copied());
        self.sums.iter().zip(before).map(|(sum, before)| less(*sum, before))
    }

    /// Returns the tokens of the message at a position.
    pub(super) fn count(&self, at: usize) -> TokenCount {
        less(self.tokens(at + 1), self.tokens(at))
    }

    /// Returns the position of the newest user request.
    pub(super) fn newest_request(&self) -> Option<usize> {
        self.requests.last().copied()
    }

    /// The positions of user requests.
    pub(super) fn requests(&self) -> &[usize] {
        &self.requests
    }

    /// The positions of messages with media.
    pub(super) fn media(&self) -> &[usize] {
        &self.media
    }

    /// Returns how many leading messages need no repair, if the rest can be checked alone: no call
    /// id repeats, and every result there belongs to a call there.
    pub(super) fn valid(&self, messages: &Messages) -> usize {
        let calls = &self.calls[self.calls.partition_point(|call| call.0 < self.valid)..];
        let is_new = calls.iter().all(|(_, _, is_new)| *is_new);
        let own: HashSet<u64> = calls.iter().map(|(_, id, _)| *id).collect();
        let tail = messages.range(self.valid..);
        let answers_own = tail.flat_map(|message| &message.parts).all(|part| match part {
            Part::ToolResult(result) => own.contains(&digest(&result.call_id)),
            _ => true,
        });
        if is_new && answers_own { self.valid } else { 0 }
    }

    /// Records whether the whole history needs no repair.
    pub(super) fn set_valid(&mut self, is_valid: bool) {
        self.valid = if is_valid { self.len() } else { 0 };
    }

    /// Returns how many leading messages are unchanged since the last request.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    /// Records that a request was made of the whole history.
    pub(super) fn sent(&mut self) {
        self.kept = self.len();
    }
}

/// Subtracts the tokens of the beginning from a sum.
pub(super) fn less(sum: TokenCount, before: TokenCount) -> TokenCount {
    TokenCount::estimate(
        sum.tokens().saturating_sub(before.tokens()),
        sum.low().saturating_sub(before.low()),
        sum.high().saturating_sub(before.high()),
    )
}

fn calls(message: &Message) -> impl Iterator<Item = &str> {
    let parts = if message.role == Role::Assistant { message.parts.as_slice() } else { &[] };
    parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.id.as_str()),
        _ => None,
    })
}

/// A collision of two digests counts as a repeated id, which only costs reading the whole history.
fn digest(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Counts one token for each byte, and panics at a text.
    #[derive(Debug)]
    struct Refusing(&'static str);

    impl TokenCounter for Refusing {
        fn name(&self) -> &str {
            "refusing"
        }

        fn count(&self, text: &str) -> TokenCount {
            assert_ne!(text, self.0, "refused");
            TokenCount::exact(text.len() as u64)
        }
    }

    /// The messages behind the one that a counter panicked at were seen, but have no entries.
    #[test]
    fn a_counter_that_panicked_leaves_an_index_that_goes_on() {
        let talk = Messages::from(["a", "bb", "ccc", "dddd"].map(Message::from));
        let mut index = HistoryIndex::default();
        let mut update = |refused| {
            catch_unwind(AssertUnwindSafe(|| index.update(&talk, "m", &Refusing(refused))))
        };
        assert!(update("ccc").is_err());
        assert!(update("").is_ok());
        let (known, chain) = index.known_in(&talk);
        assert_eq!((known, index.tokens(4)), (4, TokenCount::exact(10)));
        assert_eq!(chain, ChainHash::default().then_all(talk.iter()));
    }
}
