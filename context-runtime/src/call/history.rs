//! The history of a call: as it was given, and as it is after what was cut.

use std::sync::Arc;

use context_core::Message;
use context_core::history::Compacted;

/// A history and what is left of it.
#[derive(Debug, Default)]
pub(super) struct Working {
    given: Vec<Arc<Message>>,
    left: Compacted,
    is_cut: bool,
}

impl Working {
    /// Takes the history as it is now. If it goes on from the one before, what was cut stays cut;
    /// if not, it counts anew.
    pub(super) fn update(&mut self, messages: &[Arc<Message>]) {
        let same = |(old, new): (&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(old, new) || old == new;
        let goes_on =
            self.given.len() <= messages.len() && self.given.iter().zip(messages).all(same);
        if !goes_on {
            (self.left, self.is_cut) = (Compacted::default(), false);
            self.given.clear();
        }
        let known = self.given.len();
        self.given.extend(messages[known..].iter().map(Arc::clone));
        self.left.messages.extend(messages[known..].iter().map(Arc::clone));
        self.left.origins.extend((known..messages.len()).map(Some));
    }

    /// What is left.
    pub(super) fn messages(&self) -> &[Arc<Message>] {
        &self.left.messages
    }

    /// Takes what was made of what is left.
    pub(super) fn adopt(&mut self, cut: Compacted) {
        let origin =
            |at: &Option<usize>| at.and_then(|at| self.left.origins.get(at).copied().flatten());
        let origins = cut.origins.iter().map(origin).collect();
        let mut left = Compacted::untouched(&cut.messages);
        left.origins = origins;
        self.left = left;
        self.is_cut = true;
    }

    /// What is left, if something was cut.
    pub(super) fn compacted(&self) -> Option<&Compacted> {
        self.is_cut.then_some(&self.left)
    }
}
