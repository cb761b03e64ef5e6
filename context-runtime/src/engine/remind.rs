//! Reminders: folded into what is about to be saved, so that what is stored is what the model is
//! shown.

use std::sync::Arc;

use context_core::{MessageId, Node};
use context_instructions::{Reminder, fold_reminders, strip_reminders};

use super::{ContextEngine, Edits};

/// The reminders of an engine.
#[derive(Default)]
pub(super) struct Reminders(Vec<Reminder>);

impl ContextEngine {
    /// Adds reminders. They are asked in the order they were added, with every save.
    ///
    /// What fires is folded into the messages of that save: into the user's newest message, into
    /// the newest tool result, or as a message between two steps of the model. From then on it is
    /// part of the stored conversation and stands in every prompt;
    /// [`strip_reminders`](crate::instructions::strip_reminders) takes it out for a reader. A
    /// resolve before the save does not show it, so a turn that is to be reminded saves the user's
    /// message, or the tool's results, before it resolves, as
    /// [`continue_turn`](Self::continue_turn) does. What the model has answered already is never
    /// changed.
    ///
    /// ```
    /// use context_runtime::instructions::{Predicate, reminder};
    /// use context_runtime::{ContextEngine, assistant, user};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> context_runtime::Result<()> {
    /// let store = context_runtime::open("mem:").await?;
    /// let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
    /// chat.remind([reminder("Prices are in EUR.").when(Predicate::every_n_turns(5)).build()?]);
    ///
    /// let answer = chat.continue_turn(user("Two tickets to Lisbon, please.")).await?; // saved, reminded if due
    /// let turn = chat.resolve().await?; // what is stored is what the model is shown
    /// # let _ = turn;
    /// chat.continue_turn(assistant("Window or aisle?").with_id(answer)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn remind(&mut self, reminders: impl IntoIterator<Item = Reminder>) -> &mut Self {
        self.reminders.0.extend(reminders);
        self
    }

    /// Forgets all reminders. What they have said stays where it was folded.
    pub fn forget_reminders(&mut self) -> &mut Self {
        self.reminders.0.clear();
        self
    }

    /// Folds what fires into new messages. What amends a stored message is left as it is.
    pub(super) fn fold(&mut self, nodes: &mut Vec<Arc<Node>>, edits: Edits) {
        if self.reminders.0.is_empty() {
            return;
        }
        let Some(view) = &mut self.view else { return };
        if edits == Edits::Amend && nodes.iter().any(|node| view.position(&node.id).is_some()) {
            return;
        }
        let (now, ids) = (self.parts.clock.now(), &self.parts.ids);
        let summary = view.summary();
        let usage = self.usage;
        let _folded = fold_reminders(&self.reminders.0, summary, nodes, now, usage, || {
            MessageId::from(ids.next_id())
        });
    }
}

/// Whether both say the same but for what reminders added: a message that is sent again is not an
/// edit because other reminders fired this time.
pub(super) fn same_but_for_reminders(a: &Node, b: &Node) -> bool {
    match (a.message(), b.message()) {
        (Ok(a), Ok(b)) => strip_reminders(a) == strip_reminders(b),
        _ => false,
    }
}
