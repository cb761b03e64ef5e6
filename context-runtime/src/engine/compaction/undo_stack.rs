//! The compactions of a branch that are in force, and those that were undone.

use context_core::MessageId;
use context_core::history::BoundaryKind;

use super::Compaction;

/// The state after all boundaries of a branch, as positions among them.
pub(super) struct UndoStack<'a> {
    all: &'a [Compaction],
    standing: Vec<usize>,
    /// Each undo with nothing after it, and the compactions it undid.
    undone: Vec<(usize, Vec<usize>)>,
}

impl<'a> UndoStack<'a> {
    /// Computes the state from these boundaries, oldest first.
    pub(super) fn of(all: &'a [Compaction]) -> Self {
        let mut stack = Self { all, standing: Vec::new(), undone: Vec::new() };
        for (position, compaction) in all.iter().enumerate() {
            if let Some(undoes) = &compaction.boundary.undoes {
                stack.revert(position, undoes);
            }
            if compaction.boundary.kind != BoundaryKind::Undo {
                stack.standing.push(position);
                stack.undone.clear();
            }
        }
        stack
    }

    /// Applies an undo boundary: it undoes a compaction and those made on top of it, or reverts the
    /// newest undo.
    fn revert(&mut self, position: usize, undoes: &MessageId) {
        let is_target = |candidate: &usize| self.all[*candidate].id == *undoes;
        if let Some(from) = self.standing.iter().rposition(is_target) {
            let gone = self.standing.split_off(from);
            self.undone.push((position, gone));
        } else if self.undone.last().is_some_and(|(undo, _)| is_target(undo))
            && let Some((_, back)) = self.undone.pop()
        {
            self.standing.extend(back);
        }
    }

    /// Returns the compactions in force, oldest first.
    pub(super) fn standing(self) -> Vec<usize> {
        self.standing
    }

    /// Returns the newest compaction in force.
    pub(super) fn newest(&self) -> Option<MessageId> {
        self.standing.last().map(|position| self.all[*position].id.clone())
    }

    /// Returns the newest undo that can be reverted.
    pub(super) fn newest_undo(&self) -> Option<MessageId> {
        self.undone.last().map(|(undo, _)| self.all[*undo].id.clone())
    }
}
