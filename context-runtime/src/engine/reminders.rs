//! Reminders: folded into messages before they are saved, so that the stored messages are those the
//! model is shown.

use std::sync::Arc;

use context_core::{MessageId, Node, Result};
use context_instructions::{Reminder, fold_reminders, strip_reminders};

use super::inspection::InspectedReminder;
use super::pending::{Settle, mark};
use super::resolve::refuse;
use super::{ContextEngine, Edits};

/// The reminders of an engine.
#[derive(Clone, Default)]
pub(super) struct Reminders(Vec<Reminder>);

impl Reminders {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl ContextEngine {
    /// Adds reminders. Every save evaluates them in the order they were added.
    ///
    /// A reminder that fires is folded into the messages of that save: into the newest user
    /// message, into the newest tool result, or as a message between two steps of the model. From
    /// then on it is part of the stored conversation and of every prompt.
    /// [`strip_reminders`](crate::instructions::strip_reminders) removes reminders for display. A
    /// resolve before the save does not show the reminder. So a turn with reminders saves the user
    /// message, or the tool results, before it resolves, as [`continue_turn`](Self::continue_turn)
    /// does. Messages that the model has answered already are never changed. Their rules count from
    /// the first message on, so the first save of an engine with reminders reads the whole branch.
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

    /// Removes all reminders. Text that was folded into messages stays.
    pub fn forget_reminders(&mut self) -> &mut Self {
        self.reminders.0.clear();
        self
    }

    /// Returns the reminders, each with whether a save now would fold it into what is pending.
    pub(super) fn inspect_reminders(&mut self) -> Result<Vec<InspectedReminder>> {
        let Some(view) = self.view.as_mut().filter(|_| !self.reminders.0.is_empty()) else {
            return Ok(Vec::new());
        };
        let nodes = self.pending.settle(view, Settle::Stored).map_err(refuse)?.nodes;
        let (summary, now) = (view.summary(), self.parts.clock.now());
        let inspected = self.reminders.0.iter().map(|reminder| {
            let (alone, mut nodes) = (std::slice::from_ref(reminder), nodes.clone());
            // The id belongs to a message that nobody sees.
            let folded = fold_reminders(alone, summary, &mut nodes, now, self.usage, || "".into());
            InspectedReminder {
                text: reminder.text().map(String::from),
                target: reminder.target().as_str(),
                due: folded.fired > 0,
            }
        });
        Ok(inspected.collect())
    }

    /// Folds reminders that fire, and a note on the prompt, into new messages. Amendments of stored
    /// messages are left unchanged.
    pub(super) fn fold(&mut self, nodes: &mut Vec<Arc<Node>>, edits: Edits) {
        let note = match edits {
            Edits::Amend => None,
            _ => self.prompt_note(nodes),
        };
        let reminders: Vec<_> = note.into_iter().chain(self.reminders.0.iter().cloned()).collect();
        if reminders.is_empty() {
            return;
        }
        let Some(view) = &mut self.view else { return };
        if edits == Edits::Amend && nodes.iter().any(|node| view.position(&node.id).is_some()) {
            return;
        }
        let (now, ids) = (self.parts.clock.now(), &self.parts.ids);
        let summary = view.summary();
        let usage = self.usage;
        let folded = fold_reminders(&reminders, summary, nodes, now, usage, || {
            MessageId::from(ids.next_id())
        });
        let added = folded.steer.and_then(|id| nodes.iter_mut().find(|node| node.id == id));
        if let (Some(added), Some(written_in)) = (added, &self.written_in) {
            mark(added, written_in);
        }
    }
}

/// Whether two messages are equal except for reminders and the turn that wrote them. A message that
/// is sent again is not an edit only because other reminders fired this time.
pub(super) fn same_but_for_reminders(a: &Node, b: &Node) -> bool {
    let stripped = |message| strip_reminders(message).without_written_in();
    match (a.message(), b.message()) {
        (Ok(a), Ok(b)) => stripped(a) == stripped(b),
        _ => false,
    }
}
