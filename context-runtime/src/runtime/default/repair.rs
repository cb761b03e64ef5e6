//! Repairing requests, reading only new messages.

use std::sync::{Arc, LazyLock};

use context_codec_kit::normalize::{HistoryRules, normalize};

use context_core::model::{TokenCount, TokenCounter, Unanswered};
use context_core::{Diagnostic, Message, Messages, Role};

use super::index::{HistoryIndex, less};

/// A history that every provider's codec accepts, and the diagnostics of the repair.
#[derive(Debug)]
pub(super) struct Repaired {
    pub(super) messages: Messages,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// For each message the position of the one it was made from. `None` if nothing changed.
    origins: Option<Vec<usize>>,
}

impl Repaired {
    /// Returns the tokens that the repair added to the messages that the index covers.
    pub(super) fn added(
        &self,
        index: &HistoryIndex,
        before: &Messages,
        counter: &dyn TokenCounter,
    ) -> TokenCount {
        let Some(origins) = &self.origins else { return TokenCount::default() };
        let mut sum = TokenCount::default();
        for (message, origin) in self.messages.iter().zip(origins) {
            let is_shared = before.get(*origin).is_some_and(|other| Arc::ptr_eq(other, message));
            sum += match is_shared {
                true => index.count(*origin),
                false => counter.count_message(message),
            };
        }
        less(sum, index.tokens(index.len()))
    }

    /// Whether nothing had to be repaired.
    pub(super) fn is_same(&self) -> bool {
        self.origins.is_none()
    }

    /// Returns how many messages were made from those in front of a position.
    pub(super) fn end(&self, before: usize) -> usize {
        match &self.origins {
            Some(origins) => origins.iter().take_while(|origin| **origin < before).count(),
            None => before,
        }
    }

    /// Returns the new position of the user message that was at a position before.
    pub(super) fn position(&self, before: usize) -> Option<usize> {
        let Some(origins) = &self.origins else { return Some(before) };
        let role = |at: &usize| self.messages[*at].role == Role::User;
        (0..origins.len()).rev().filter(|at| origins[*at] == before).find(role)
    }
}

/// Repairs a history that the index covers. Messages that needed no repair need none after others
/// are appended, unless these refer to them.
pub(super) fn repair(index: &mut HistoryIndex, messages: Messages) -> Repaired {
    static OPENING: LazyLock<Arc<Message>> =
        LazyLock::new(|| Arc::new(Message::from(HistoryRules::OPENING)));

    let valid = index.valid(&messages);
    let has_begun = messages.range(..valid).any(|message| message.role != Role::System);
    if has_begun {
        // One user message stands in for the valid part, which is enough for the rules.
        let tail = std::iter::once(&*OPENING).chain(messages.range(valid..)).map(Arc::clone);
        let tail: Vec<_> = tail.collect();
        let normal = normalize(&tail, &HistoryRules::new(), Unanswered::Answer, false);
        if normal.diagnostics.is_empty() && normal.messages.len() == tail.len() {
            index.set_valid(true);
            return Repaired { messages, diagnostics: Vec::new(), origins: None };
        }
    }
    let normal = normalize(&messages, &HistoryRules::new(), Unanswered::Answer, false);
    let is_same = normal.diagnostics.is_empty() && normal.messages.len() == messages.len();
    index.set_valid(is_same);
    if is_same {
        return Repaired { messages, diagnostics: Vec::new(), origins: None };
    }
    let origins = (0..normal.messages.len()).map(|at| normal.origin(at)).collect();
    let diagnostics = normal.diagnostics;
    Repaired { messages: normal.messages.into_owned().into(), diagnostics, origins: Some(origins) }
}
