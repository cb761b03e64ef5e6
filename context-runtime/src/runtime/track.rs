//! What is known of a session's history, so that one more message costs that message.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};

use context_core::model::{TokenCount, TokenCounter};
use context_core::{Message, Part, Role};

use super::chain::ChainHash;

/// What is known of a history: per message what it adds to hash and tokens, where requests and
/// calls stand. Messages that are shared with the history before are known by their address and not
/// looked at.
#[derive(Debug, Default)]
pub(super) struct Track {
    /// The weak pointers keep the addresses from being given to other messages; messages are not
    /// kept alive.
    seen: Vec<Weak<Message>>,
    chains: Vec<ChainHash>,
    /// How many tokens there are up to each message.
    sums: Vec<TokenCount>,
    /// For whose counter the sums are.
    counted_for: String,
    requests: Vec<usize>,
    /// Where calls stand, and whether their id is new.
    calls: Vec<(usize, u64, bool)>,
    ids: HashSet<u64>,
    /// How many messages from the first on are known to need no repair.
    valid: usize,
    /// How many messages from the first on are as they were when the last request was made.
    kept: usize,
}

impl Track {
    /// How many messages a history shares with this one from the first on, the very same
    /// allocations, and their hash.
    pub(super) fn known_in(&self, messages: &[Arc<Message>]) -> (usize, ChainHash) {
        let same = |(seen, message): &(&Weak<Message>, &Arc<Message>)| {
            seen.as_ptr() == Arc::as_ptr(message)
        };
        let shared = self.seen.iter().zip(messages).take_while(same).count();
        (shared, self.chain(shared))
    }

    /// Takes note of a history, counted for a model by its counter.
    pub(super) fn update(
        &mut self,
        messages: &[Arc<Message>],
        model: &str,
        counter: &dyn TokenCounter,
    ) {
        let (mut shared, _) = self.known_in(messages);
        // The same words in another allocation.
        while let (Some(known), Some(message)) = (self.chains.get(shared), messages.get(shared)) {
            if self.chain(shared).then(&message.hash()) != *known {
                break;
            }
            self.seen[shared] = Arc::downgrade(message);
            shared += 1;
        }
        self.cut(shared);
        if self.counted_for != model {
            model.clone_into(&mut self.counted_for);
            self.sums.clear();
            for message in &messages[..shared] {
                self.add(counter.count_shared(message));
            }
        }
        for message in &messages[shared..] {
            self.push(message, counter);
        }
    }

    /// Forgets what is behind so many messages.
    fn cut(&mut self, messages: usize) {
        self.kept = self.kept.min(messages);
        if messages >= self.seen.len() {
            return;
        }
        // A cut may stand between a call and its result.
        self.valid = 0;
        self.seen.truncate(messages);
        self.chains.truncate(messages);
        self.sums.truncate(messages);
        self.requests.truncate(self.requests.partition_point(|at| *at < messages));
        for (_, id, is_new) in
            self.calls.drain(self.calls.partition_point(|call| call.0 < messages)..)
        {
            if is_new {
                self.ids.remove(&id);
            }
        }
    }

    fn push(&mut self, message: &Arc<Message>, counter: &dyn TokenCounter) {
        let position = self.seen.len();
        let hash = message.hash();
        let chain = self.chain(position).then(&hash);
        self.add(counter.count_hashed(message, &hash));
        self.seen.push(Arc::downgrade(message));
        self.chains.push(chain);
        if message.is_request() {
            self.requests.push(position);
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

    /// How many messages there are.
    pub(super) fn len(&self) -> usize {
        self.seen.len()
    }

    /// The hash of so many messages.
    pub(super) fn chain(&self, messages: usize) -> ChainHash {
        messages.checked_sub(1).and_then(|last| self.chains.get(last)).copied().unwrap_or_default()
    }

    /// How many tokens so many messages are.
    pub(super) fn tokens(&self, messages: usize) -> TokenCount {
        messages.checked_sub(1).and_then(|last| self.sums.get(last)).copied().unwrap_or_default()
    }

    /// How many tokens each message is.
    pub(super) fn counts(&self) -> impl Iterator<Item = TokenCount> {
        let before = std::iter::once(TokenCount::ZERO).chain(self.sums.iter().copied());
        self.sums.iter().zip(before).map(|(sum, before)| less(*sum, before))
    }

    /// Where the newest request of the user stands.
    pub(super) fn newest_request(&self) -> Option<usize> {
        self.requests.last().copied()
    }

    /// Where requests of the user stand.
    pub(super) fn requests(&self) -> &[usize] {
        &self.requests
    }

    /// How many messages from the first on need no repair, if what follows can be looked at alone:
    /// no id of a call repeats, and every result there belongs to a call there.
    pub(super) fn valid(&self, messages: &[Arc<Message>]) -> usize {
        let calls = &self.calls[self.calls.partition_point(|call| call.0 < self.valid)..];
        let is_new = calls.iter().all(|(_, _, is_new)| *is_new);
        let own: HashSet<u64> = calls.iter().map(|(_, id, _)| *id).collect();
        let tail = messages.get(self.valid..).unwrap_or_default();
        let answers_own = tail.iter().flat_map(|message| &message.parts).all(|part| match part {
            Part::ToolResult(result) => own.contains(&digest(&result.call_id)),
            _ => true,
        });
        if is_new && answers_own { self.valid } else { 0 }
    }

    /// Remembers whether all of it needs no repair.
    pub(super) fn set_valid(&mut self, is_valid: bool) {
        self.valid = if is_valid { self.len() } else { 0 };
    }

    /// How many messages from the first on are as they were when the last request was made.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    /// A request was made of all of it.
    pub(super) fn sent(&mut self) {
        self.kept = self.len();
    }
}

/// What is left of a sum without its beginning.
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

/// Two ids with one digest are taken for one that repeats, which costs a look at the whole history
/// and nothing else.
fn digest(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
