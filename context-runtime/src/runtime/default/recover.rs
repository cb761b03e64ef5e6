//! Deciding about a model's error, with the record of earlier attempts.
//!
//! A caller that reports its attempts is trusted. For other callers, the decisions for the same
//! call are remembered. Calls of a session and a turn are the same as long as the newest message
//! is. So a loop that follows decisions blindly is finally told to give up, and a later step of a
//! long turn starts anew.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use context_core::ChatRef;
use context_core::history::{Attempt, Failure, HistoryView, RecoveryDecision};
use context_core::message::MessageHash;
use context_core::model::{Budget, TokenCounter};
use context_core::runtime::RecoveryInput;

use crate::RecoveryChain;

/// The number of chats whose newest refusals are remembered.
const MOST: usize = 1_024;

/// The attempts at the newest refused call of each chat, least recently used first.
#[derive(Debug, Default)]
pub(super) struct AttemptLog(Mutex<VecDeque<RefusedCall>>);

#[derive(Debug)]
struct RefusedCall {
    chat: ChatRef,
    turn: String,
    newest: Option<MessageHash>,
    attempts: Vec<Attempt>,
}

impl RefusedCall {
    fn is_of(&self, input: &RecoveryInput) -> bool {
        self.turn == input.turn.id && self.newest == newest(input)
    }
}

fn newest(input: &RecoveryInput) -> Option<MessageHash> {
    input.messages.last().map(|message| message.hash())
}

impl AttemptLog {
    fn calls(&self) -> MutexGuard<'_, VecDeque<RefusedCall>> {
        // A list of calls is valid in any state, so a poisoned lock is ignored.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the attempts at this call. The outcome of the newest attempt is only known now.
    fn attempts(&self, input: &RecoveryInput, tokens: u64) -> Vec<Attempt> {
        let calls = self.calls();
        let known = calls.iter().find(|call| call.chat == input.turn.chat && call.is_of(input));
        let mut attempts = known.map(|call| call.attempts.clone()).unwrap_or_default();
        if let Some(last) = attempts.last_mut() {
            last.after = tokens;
        }
        attempts
    }

    /// Removes the attempts of the matching chats.
    pub(super) fn forget(&self, is_of: impl Fn(&ChatRef) -> bool) {
        self.calls().retain(|call| !is_of(&call.chat));
    }

    fn note(&self, input: &RecoveryInput, attempts: Vec<Attempt>) {
        let mut calls = self.calls();
        calls.retain(|call| call.chat != input.turn.chat);
        if attempts.is_empty() {
            return;
        }
        if calls.len() >= MOST {
            calls.pop_front();
        }
        calls.push_back(RefusedCall {
            chat: input.turn.chat.clone(),
            turn: input.turn.id.clone(),
            newest: newest(input),
            attempts,
        });
    }
}

/// Returns the chain's decision. Giving up ends the call and its record.
pub(super) fn recover(
    chain: &RecoveryChain,
    log: &AttemptLog,
    counter: &dyn TokenCounter,
    budget: Option<Budget>,
    input: &RecoveryInput,
) -> RecoveryDecision {
    let view = HistoryView::new(&input.messages, counter);
    let mut attempts = input.attempts.clone().unwrap_or_else(|| log.attempts(input, view.total()));
    let mut failure = Failure::new(&input.error, &view);
    failure.attempts = &attempts;
    failure.has_attempted_compact = input.has_attempted_compact;
    failure.budget = budget;
    failure.partial = input.partial.as_ref();
    let recovered = chain.recover(&failure);
    if input.attempts.is_none() {
        attempts.extend(recovered.in_vain);
        match recovered.decision.retries() {
            true => {
                attempts.push(Attempt::new(recovered.decision.clone(), view.total(), view.total()))
            }
            false => attempts.clear(),
        }
        log.note(input, attempts);
    }
    recovered.decision
}
