//! The history of one call: as given, and as cuts leave it.

use context_core::history::HistoryRewrite;
use context_core::runtime::PrepareInput;
use context_core::{Error, Messages, Result};

/// Refuses cuts that were made of another conversation.
pub(super) fn check(operation: &'static str, input: &PrepareInput) -> Result<()> {
    let messages = input.request.messages.len();
    match &input.rewrite {
        Some(rewrite) if !rewrite.fits(messages) => {
            let error = Error::invalid(
                operation,
                "`rewrite` was not made from this conversation: pass the messages that it was made from, or leave it out",
            );
            Err(error.with("covered", rewrite.covered).with("messages", messages))
        }
        _ => Ok(()),
    }
}

/// The history of a call, with the cuts between the given conversation and what is sent.
#[derive(Debug)]
pub(super) struct CallHistory {
    given: Messages,
    /// `None` if nothing was cut.
    rewrite: Option<HistoryRewrite>,
    /// Whether the rewrite holds more than the limit of messages, so that it is to be kept.
    pub(super) is_compacted: bool,
    /// Whether the messages were just cut to a maximum number.
    pub(super) is_limited: bool,
}

impl CallHistory {
    /// Creates the history of a conversation with earlier cuts.
    pub(super) fn new(given: Messages, mut rewrite: Option<HistoryRewrite>) -> Self {
        if let Some(rewrite) = &mut rewrite {
            rewrite.resume(&given);
        }
        Self { is_compacted: rewrite.is_some(), given, rewrite, is_limited: false }
    }

    /// The conversation as the caller passed it.
    pub(super) fn given(&self) -> &Messages {
        &self.given
    }

    /// The messages that are left.
    pub(super) fn messages(&self) -> &Messages {
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
    pub(super) fn into_parts(self) -> (Messages, Option<HistoryRewrite>) {
        match self.rewrite {
            Some(rewrite) => (rewrite.messages.clone(), Some(rewrite)),
            None => (self.given, None),
        }
    }
}
