//! Sessions: the state that is kept per chat between two calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use context_core::message::MessageHash;
use context_core::model::{Budget, TokenCount};
use context_core::runtime::Breakdown;
use context_core::{ChatRef, Messages, Timestamp};

use super::cuts::Cuts;
use super::fingerprint::{ChainHash, PrefixFingerprint};
use super::index::HistoryIndex;
use super::prefix::PromptHash;
use super::prompt_cache::RecentCalls;
use super::readable::Placeholders;
use super::recall::TurnRecalls;

/// The state of one chat.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) index: HistoryIndex,
    pub(super) sent: Option<SentRequest>,
    pub(super) recalls: TurnRecalls,
    pub(super) cuts: Cuts,
    /// Texts for the media that the model does not read.
    pub(super) placeholders: Placeholders,
    /// The part of the history that was captured.
    pub(super) captured: PrefixFingerprint,
    /// The tokens of what precedes the history, as long as it is unchanged.
    pub(super) static_tokens: Option<StaticTokens>,
    pub(super) recent_calls: RecentCalls,
    /// The first message whose results the provider clears of this request and did not clear of the
    /// one before.
    pub(super) newly_cleared: Option<usize>,
}

impl Session {
    /// Returns the prefix fingerprint of a history. The part that the session has seen is not
    /// hashed again.
    pub(super) fn fingerprint(&self, messages: &Messages) -> PrefixFingerprint {
        let mut fingerprint = PrefixFingerprint::default();
        fingerprint.follow(messages, self.known_in(messages));
        fingerprint
    }

    /// Records a history as captured.
    pub(super) fn capture(&mut self, messages: &Messages) {
        self.captured.follow(messages, self.known_in(messages));
    }

    /// Returns how many leading messages of a history the session has seen, and their hash.
    fn known_in(&self, messages: &Messages) -> (usize, ChainHash) {
        let cut = self.cuts.covered().and_then(|covered| covered.known_in(messages));
        let known = [cut, self.captured.known_in(messages)].into_iter().flatten();
        known.fold(
            self.index.known_in(messages),
            |most, known| if known.0 > most.0 { known } else { most },
        )
    }
}

/// The last request.
#[derive(Clone, Debug)]
pub(super) struct SentRequest {
    pub(super) at: Timestamp,
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) prompt_hash: PromptHash,
    /// The lifetime of its entries in the provider's prompt cache, after their last use.
    pub(super) lifetime: Duration,
    /// The time until which the provider has it in its cache, if it has.
    pub(super) cached_until: Option<Timestamp>,
    /// The number of messages, without the recall, and their hash.
    pub(super) messages: usize,
    pub(super) chain: ChainHash,
    /// The number of messages before the recall, and the recall's hash.
    pub(super) recall: Option<(usize, MessageHash)>,
    /// Its tokens before calibration.
    pub(super) estimate: TokenCount,
    /// The newest request with a report that this one begins with, or this one.
    pub(super) base: Option<ReportedRequest>,
    pub(super) budget: Budget,
    /// Its tokens by part.
    pub(super) breakdown: Breakdown,
    /// The position behind the last message of which the provider clears results.
    pub(super) cleared_end: usize,
}

/// A request whose tokens the provider reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportedRequest {
    /// The reported input tokens.
    pub(super) tokens: u64,
    /// The estimate before calibration.
    pub(super) estimate: TokenCount,
}

impl SentRequest {
    /// Returns how many of the first `kept` messages are in both requests, if the next one has this
    /// recall: those before either recall, or all if the recall is the same.
    pub(super) fn shared(&self, kept: usize, recall: Option<&(usize, MessageHash)>) -> usize {
        if self.recall.as_ref() == recall {
            return kept;
        }
        [self.recall.as_ref(), recall]
            .into_iter()
            .flatten()
            .fold(kept, |kept, (at, _)| kept.min(*at))
    }
}

/// The tokens of what precedes the history.
#[derive(Clone, Debug)]
pub(super) struct StaticTokens {
    pub(super) prompt_hash: PromptHash,
    pub(super) model: String,
    /// The number of prompt parts before the instructions, and the number of instructions.
    pub(super) layout: (usize, usize),
    pub(super) system: TokenCount,
    pub(super) instructions: TokenCount,
    pub(super) tools: TokenCount,
}

impl StaticTokens {
    /// Returns the tokens of everything before the history.
    pub(super) fn front(&self) -> TokenCount {
        self.system + self.instructions + self.tools
    }
}

/// The recently used sessions: at least `most` and at most twice as many.
#[derive(Debug)]
pub(super) struct Sessions {
    most: usize,
    known: Mutex<RecentSessions>,
}

#[derive(Debug, Default)]
struct RecentSessions {
    new: HashMap<ChatRef, Arc<Mutex<Session>>>,
    old: HashMap<ChatRef, Arc<Mutex<Session>>>,
}

impl Sessions {
    pub(super) fn new(most: usize) -> Self {
        Self { most, known: Mutex::default() }
    }

    /// Returns the session of a chat, or a new one.
    pub(super) fn get(&self, chat: &ChatRef) -> Arc<Mutex<Session>> {
        let mut known = lock(&self.known);
        if let Some(session) = known.new.get(chat) {
            return Arc::clone(session);
        }
        let session = known.old.remove(chat).unwrap_or_default();
        if known.new.len() >= self.most {
            known.old = std::mem::take(&mut known.new);
        }
        known.new.insert(chat.clone(), Arc::clone(&session));
        session
    }

    /// Removes the matching sessions and returns their number.
    pub(super) fn forget(&self, is_of: impl Fn(&ChatRef) -> bool) -> usize {
        let mut known = lock(&self.known);
        let before = known.new.len() + known.old.len();
        known.new.retain(|chat, _| !is_of(chat));
        known.old.retain(|chat, _| !is_of(chat));
        before - known.new.len() - known.old.len()
    }
}

/// Ignores a poisoned lock: a panic leaves at worst a session that is counted and hashed again.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
