//! The branches of a chat as a tree of pieces, its checkpoints, and the pruning of unneeded
//! messages.

use context_core::base::CheckpointName;
use context_core::store::{Branch, Checkpoint};
use context_core::{BranchName, MessageId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chat::fields::{Position, Tip};
use crate::checksums;
use crate::error::{Fault, Result};
use crate::values::unreadable;

/// The number of the piece of the branch that a chat began with.
pub(crate) const FIRST_PIECE: u64 = 1;

/// Everything about a chat's branches that a plain append does not change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BranchTree {
    pub(crate) active: BranchName,
    /// The number of the next piece.
    next: u64,
    /// The pieces in the order of their creation.
    pub(crate) pieces: Vec<Piece>,
    /// The checkpoints by name.
    pub(crate) checkpoints: Vec<CheckpointMark>,
}

/// The messages that were written through one branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Piece {
    pub(crate) no: u64,
    /// `None` if the branch was deleted and its messages are still needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<BranchName>,
    /// The number of messages before it.
    pub(crate) base: u64,
    /// The position after which it forks, or `None` for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<Position>,
    /// The number of messages, for a piece without a name. The tip of a named piece has the number.
    #[serde(default)]
    pub(crate) own: u64,
    pub(crate) at: Timestamp,
}

/// A checkpoint and the position of its message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CheckpointMark {
    pub(crate) name: CheckpointName,
    pub(crate) message: MessageId,
    #[serde(rename = "place")]
    pub(crate) position: Position,
    pub(crate) at: Timestamp,
}

/// The removal of all messages of a piece after the first `keep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) piece: u64,
    pub(crate) keep: u64,
    pub(crate) own: u64,
}

impl Piece {
    /// Returns its form in the hash.
    pub(crate) fn write(&self) -> Vec<u8> {
        let Position { piece, pos } = self.parent.unwrap_or(Position { piece: 0, pos: 0 });
        format!("{} {piece} {pos}", self.base).into()
    }
}

impl BranchTree {
    /// Returns the tree of a chat with one branch without messages.
    pub(crate) fn new(active: BranchName, at: Timestamp) -> Self {
        let no = FIRST_PIECE;
        let main = Piece { no, name: Some(active.clone()), base: 0, parent: None, own: 0, at };
        Self { active, next: no + 1, pieces: vec![main], checkpoints: Vec::new() }
    }

    pub(crate) fn read(value: &[u8]) -> Result<Self> {
        serde_json::from_slice(checksums::opened("s", value)?).map_err(|_| unreadable())
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        Ok(checksums::seal("s", serde_json::to_vec(self).map_err(|_| unreadable())?))
    }

    /// Returns the branches, in the order of their creation.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&BranchName, &Piece)> {
        self.pieces.iter().filter_map(|piece| Some((piece.name.as_ref()?, piece)))
    }

    pub(crate) fn has(&self, name: &BranchName) -> bool {
        self.named().any(|(named, _)| named == name)
    }

    pub(crate) fn piece(&self, no: u64) -> Result<&Piece> {
        self.pieces
            .iter()
            .find(|piece| piece.no == no)
            .ok_or_else(|| Fault::Corrupt("a branch forks from a piece that does not exist", None))
    }

    /// Returns the position before a position, or `None` for a root.
    pub(crate) fn before(&self, position: Position) -> Result<Option<Position>> {
        if position.pos > 1 {
            return Ok(Some(Position { pos: position.pos - 1, ..position }));
        }
        Ok(self.piece(position.piece)?.parent)
    }

    /// Returns the number of messages before the one at a position.
    pub(crate) fn depth(&self, position: Position) -> Result<u64> {
        Ok(self.piece(position.piece)?.base + position.pos - 1)
    }

    /// Whether the chain that ends at the tip contains a position.
    pub(crate) fn holds(&self, tip: &Tip, position: Position) -> Result<bool> {
        let mut end = Some(Position { piece: tip.piece, pos: tip.own });
        while let Some(Position { piece, pos }) = end {
            if piece == position.piece {
                return Ok(position.pos <= pos);
            }
            end = self.piece(piece)?.parent;
        }
        Ok(false)
    }

    /// Creates a branch.
    pub(crate) fn begin(
        &mut self,
        name: BranchName,
        parent: Option<Position>,
        at: Timestamp,
    ) -> Result<&Piece> {
        let base = parent.map_or(Ok(0), |parent| Ok::<_, Fault>(self.depth(parent)? + 1))?;
        let piece = Piece { no: self.next, name: Some(name), base, parent, own: 0, at };
        self.next += 1;
        self.pieces.push(piece);
        self.pieces.last().ok_or_else(unreadable)
    }

    /// Removes the name of the piece that ends at the tip.
    pub(crate) fn unname(&mut self, tip: &Tip) {
        for piece in self.pieces.iter_mut().filter(|piece| piece.no == tip.piece) {
            piece.name = None;
            piece.own = tip.own;
        }
    }

    /// Removes messages that nothing needs any more, beginning with a piece that has lost a
    /// reference. A piece without a name is needed up to the last fork or checkpoint on it. If it
    /// loses its last message, its parent may become unneeded too.
    pub(crate) fn prune(&mut self, piece: u64) -> Result<Vec<Cut>> {
        let mut cuts = Vec::new();
        let mut next = Some(piece);
        while let Some(no) = next.take() {
            let Piece { name, parent, own, .. } = self.piece(no)?.clone();
            if name.is_some() {
                break;
            }
            let forks = self.pieces.iter().filter_map(|piece| piece.parent);
            let marks = self.checkpoints.iter().map(|mark| mark.position);
            let needed = forks
                .chain(marks)
                .filter(|position| position.piece == no)
                .map(|position| position.pos);
            let keep = needed.max().unwrap_or(0);
            if keep < own || keep == 0 {
                cuts.push(Cut { piece: no, keep, own });
            }
            if keep > 0 {
                self.pieces
                    .iter_mut()
                    .filter(|piece| piece.no == no)
                    .for_each(|piece| piece.own = keep);
            } else {
                self.pieces.retain(|piece| piece.no != no);
                next = parent.map(|parent| parent.piece);
            }
        }
        Ok(cuts)
    }

    pub(crate) fn mark(&self, name: &CheckpointName) -> Option<&CheckpointMark> {
        self.checkpoints.iter().find(|mark| mark.name == *name)
    }

    /// Sets a checkpoint and returns its previous position.
    pub(crate) fn set_mark(&mut self, new: CheckpointMark) -> Option<CheckpointMark> {
        match self.checkpoints.binary_search_by(|mark| mark.name.cmp(&new.name)) {
            Ok(found) => Some(std::mem::replace(&mut self.checkpoints[found], new)),
            Err(free) => {
                self.checkpoints.insert(free, new);
                None
            }
        }
    }

    pub(crate) fn branch(&self, name: &BranchName, piece: &Piece, tip: &Tip) -> Branch {
        Branch::new(
            name.clone(),
            tip.head.clone(),
            piece.base + tip.own,
            *name == self.active,
            piece.at,
        )
    }

    pub(crate) fn checkpoints(&self) -> Vec<Checkpoint> {
        let checkpoint = |mark: &CheckpointMark| {
            Checkpoint::new(mark.name.clone(), mark.message.clone(), mark.at)
        };
        self.checkpoints.iter().map(checkpoint).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tip(piece: u64, own: u64) -> Tip {
        Tip { piece, own, head: None }
    }

    #[test]
    fn what_nothing_needs_goes_up_to_what_is_needed() {
        let at = Timestamp::default();
        let mut tree = BranchTree::new("main".into(), at);
        let side = tree.begin("side".into(), Some(Position { piece: 1, pos: 5 }), at).unwrap().no;
        let leaf = tree.begin("leaf".into(), Some(Position { piece: side, pos: 3 }), at).unwrap();
        assert_eq!((leaf.no, leaf.base), (3, 8));
        tree.unname(&tip(side, 9));
        assert_eq!(tree.prune(side).unwrap(), [Cut { piece: 2, keep: 3, own: 9 }]);
        assert!(tree.holds(&tip(3, 2), Position { piece: 1, pos: 5 }).unwrap());
        assert!(!tree.holds(&tip(3, 2), Position { piece: 1, pos: 6 }).unwrap());
        tree.unname(&tip(3, 2));
        let cuts = tree.prune(3).unwrap();
        assert_eq!(cuts, [Cut { piece: 3, keep: 0, own: 2 }, Cut { piece: 2, keep: 0, own: 3 }]);
        assert_eq!(tree.pieces.len(), 1);
    }
}
