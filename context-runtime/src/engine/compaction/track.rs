//! Which compactions of a branch stand, and which were taken back.

use context_core::MessageId;
use context_core::history::BoundaryKind;

use super::Compaction;

/// What the boundaries of a branch come to, as positions among them.
pub(super) struct Track<'a> {
    all: &'a [Compaction],
    standing: Vec<usize>,
    /// Each undo that nothing followed, and what it took back.
    undone: Vec<(usize, Vec<usize>)>,
}

impl<'a> Track<'a> {
    /// Of these, oldest first.
    pub(super) fn of(all: &'a [Compaction]) -> Self {
        let mut track = Self { all, standing: Vec::new(), undone: Vec::new() };
        for (position, compaction) in all.iter().enumerate() {
            if let Some(undoes) = &compaction.boundary.undoes {
                track.take_back(position, undoes);
            }
            if compaction.boundary.kind != BoundaryKind::Undo {
                track.standing.push(position);
                track.undone.clear();
            }
        }
        track
    }

    /// A boundary takes back another: a compaction with those that were made on top of it, or an
    /// undo.
    fn take_back(&mut self, position: usize, undoes: &MessageId) {
        let is_it = |candidate: &usize| self.all[*candidate].id == *undoes;
        if let Some(from) = self.standing.iter().rposition(is_it) {
            let gone = self.standing.split_off(from);
            self.undone.push((position, gone));
        } else if self.undone.last().is_some_and(|(undo, _)| is_it(undo))
            && let Some((_, back)) = self.undone.pop()
        {
            self.standing.extend(back);
        }
    }

    /// Those that stand, oldest first.
    pub(super) fn standing(self) -> Vec<usize> {
        self.standing
    }

    /// The newest that stands.
    pub(super) fn newest(&self) -> Option<MessageId> {
        self.standing.last().map(|position| self.all[*position].id.clone())
    }

    /// The newest undo that can be taken back.
    pub(super) fn newest_undo(&self) -> Option<MessageId> {
        self.undone.last().map(|(undo, _)| self.all[*undo].id.clone())
    }
}
