//! The commits of an engine: their time, their lease and their durability.

use context_core::store::{Commit, Durability, Target};

use super::ContextEngine;

impl ContextEngine {
    /// Sets the durability that commits of this engine ask for from now on, as
    /// [`ContextEngineBuilder::durability`](super::ContextEngineBuilder::durability) does: of one
    /// save that must survive a power failure, for example. `None`: as the store is configured.
    pub fn set_durability(&mut self, durability: impl Into<Option<Durability>>) {
        self.parts.durability = durability.into();
    }

    /// Returns a commit to the chat at this time, under the engine's lease and with its durability.
    pub(super) fn new_commit(&self, target: Target) -> Commit {
        Commit {
            lease: self.lease.as_ref().map(|lease| lease.number),
            durability: self.parts.durability,
            ..Commit::new(self.chat.clone(), target, self.parts.clock.now())
        }
    }
}
