//! The history of a call, as given and after cuts.

use std::sync::Arc;

use context_core::Message;
use context_core::history::Compacted;

/// A history and what remains of it after cuts.
#[derive(Debug, Default)]
pub(super) struct Working {
    given: Vec<Arc<Message>>,
    left: Compacted,
    is_cut: bool,
}

impl Working {
    /// Updates the given history. If it extends the previous one, earlier cuts stay applied.
    /// Otherwise they are dropped.
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

    /// The remaining messages.
    pub(super) fn messages(&self) -> &[Arc<Message>] {
        &self.left.messages
    }

    /// Replaces the remaining messages by a cut of them.
    pub(super) fn adopt(&mut self, cut: Compacted) {
        let origin =
            |at: &Option<usize>| at.and_then(|at| self.left.origins.get(at).copied().flatten());
        let origins = cut.origins.iter().map(origin).collect();
        let mut left = Compacted::untouched(&cut.messages);
        left.origins = origins;
        self.left = left;
        self.is_cut = true;
    }

    /// The remaining history, if something was cut.
    pub(super) fn compacted(&self) -> Option<&Compacted> {
        self.is_cut.then_some(&self.left)
    }
}
