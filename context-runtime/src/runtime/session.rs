//! What is kept of chats between two calls: of each user's chat a session of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_core::message::MessageHash;
use context_core::model::{Budget, TokenCount};
use context_core::{ChatRef, Message, Timestamp};

use super::chain::{Beginning, ChainHash};
use super::cuts::Cuts;
use super::prefix::Start;
use super::recall::TurnRecall;
use super::track::Track;

/// What is kept of a session.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) track: Track,
    pub(super) sent: Option<Sent>,
    pub(super) recall: Option<TurnRecall>,
    pub(super) cuts: Cuts,
    /// How far the memory has been told.
    pub(super) captured: Option<Beginning>,
    /// The tokens of what stands before the history, as long as that is the same.
    pub(super) fixed: Option<Fixed>,
}

impl Session {
    /// A history as one that can be known again. What the session has seen of it is not hashed
    /// again.
    pub(super) fn beginning(&self, messages: &[Arc<Message>]) -> Beginning {
        let cut = self.cuts.covered().and_then(|covered| covered.known_in(messages));
        let captured = self.captured.as_ref().and_then(|captured| captured.known_in(messages));
        let known = [cut, captured].into_iter().flatten();
        let most =
            known.fold(
                self.track.known_in(messages),
                |most, known| if known.0 > most.0 { known } else { most },
            );
        Beginning::of(messages, most)
    }
}

/// The last request.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) at: Timestamp,
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) start: Start,
    /// How many messages it had, the recall not counted, and their hash.
    pub(super) messages: usize,
    pub(super) chain: ChainHash,
    /// Behind how many messages the recall stood, and its hash.
    pub(super) recall: Option<(usize, MessageHash)>,
    /// Its tokens before any calibration.
    pub(super) estimate: TokenCount,
    pub(super) budget: Budget,
    /// How many tokens its repair had added to the history, such as results in the place of missing
    /// ones.
    pub(super) added: u64,
}

/// The tokens of what stands before the history.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    pub(super) start: Start,
    pub(super) model: String,
    /// How many parts of the prompt come before the instructions, and behind them.
    pub(super) layout: (usize, usize),
    pub(super) system: TokenCount,
    pub(super) instructions: TokenCount,
    pub(super) tools: TokenCount,
}

/// The sessions used lately: at least as many as asked for are remembered, and at most twice as
/// many.
#[derive(Debug)]
pub(super) struct Sessions {
    most: usize,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    new: HashMap<ChatRef, Arc<Mutex<Session>>>,
    old: HashMap<ChatRef, Arc<Mutex<Session>>>,
}

impl Sessions {
    pub(super) fn new(most: usize) -> Self {
        Self { most, known: Mutex::default() }
    }

    /// A session, a new one if it is not known.
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

    /// Forgets the sessions of chats, and returns how many there were.
    pub(super) fn forget(&self, is_of: impl Fn(&ChatRef) -> bool) -> usize {
        let mut known = lock(&self.known);
        let before = known.new.len() + known.old.len();
        known.new.retain(|chat, _| !is_of(chat));
        known.old.retain(|chat, _| !is_of(chat));
        before - known.new.len() - known.old.len()
    }
}

/// Whoever panicked while it held the lock left at worst a session that is counted and hashed
/// again.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
