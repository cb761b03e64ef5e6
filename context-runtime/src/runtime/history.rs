//! The history of one call: as given, and as cuts leave it.

use std::sync::Arc;

use context_core::Message;
use context_core::history::HistoryRewrite;

/// The history of a call, with the cuts between the given conversation and what is sent.
#[derive(Debug)]
pub(super) struct CallHistory {
    given: Vec<Arc<Message>>,
    /// `None` if nothing was cut.
    rewrite: Option<HistoryRewrite>,
    /// Whether the rewrite holds more than the limit of messages, so that it is to be kept.
    pub(super) is_compacted: bool,
    /// Whether the messages were just cut to a maximum number.
    pub(super) is_limited: bool,
}

impl CallHistory {
    /// Creates the history of a conversation with earlier cuts.
    pub(super) fn new(given: Vec<Arc<Message>>, mut rewrite: Option<HistoryRewrite>) -> Self {
        if let Some(rewrite) = &mut rewrite {
            rewrite.resume(&given);
        }
        Self { is_compacted: rewrite.is_some(), given, rewrite, is_limited: false }
    }

    /// The conversation as the caller passed it.
    pub(super) fn given(&self) -> &[Arc<Message>] {
        &self.given
    }

    /// The messages that are left.
    pub(super) fn messages(&self) -> &[Arc<Message>] {
        self.rewrite.as_ref().map_or(&self.given, |rewrite| &rewrite.messages)
    }

    /// Cuts the messages that are left.
    pub(super) fn cut(&mut self, next: HistoryRewrite) {
        self.rewrite = Some(self.then(next));
    }

    /// Returns the rewrite of the given conversation with one more cut.
    pub(super) fn then(&self, next: HistoryRewrite) -> HistoryRewrite {
        match &self.rewrite {
            Some(rewrite) => rewrite.clone().then(next),
            None => next,
        }
    }

    /// The cuts, if there are any.
    pub(super) fn rewrite(&self) -> Option<&HistoryRewrite> {
        self.rewrite.as_ref()
    }

    /// Returns the messages that are left, and the cuts.
    pub(super) fn into_parts(self) -> (Vec<Arc<Message>>, Option<HistoryRewrite>) {
        match self.rewrite {
            Some(rewrite) => (rewrite.messages.clone(), Some(rewrite)),
            None => (self.given, None),
        }
    }
}
