//! A bounded cache of open graph files.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_core::trajectory::RoundRef;

use super::graph_file::GraphFile;

/// The largest number of files that are kept open.
const MOST: usize = 32;

/// The slot of one open file. The file is taken out while it is used, so that a file whose
/// operation failed half way is not used again.
pub(super) type Slot = Arc<Mutex<Option<GraphFile>>>;

#[derive(Default)]
pub(super) struct Slots(Mutex<SlotTable>);

#[derive(Default)]
struct SlotTable {
    slots: HashMap<RoundRef, (u64, Slot)>,
    /// The counter of uses, for least-recently-used eviction.
    uses: u64,
}

impl Slots {
    /// Returns the slot of a round for writing, and the slots that are evicted for it.
    pub(super) fn of(&self, round: &RoundRef) -> (Slot, Vec<Slot>) {
        let mut table = lock(&self.0);
        table.uses += 1;
        let used = table.uses;
        if let Some((last, slot)) = table.slots.get_mut(round) {
            *last = used;
            return (slot.clone(), Vec::new());
        }
        let mut evicted = Vec::new();
        while table.slots.len() >= MOST {
            // A slot in use is not evicted: a second handle to its file would be correct, but slow.
            let idle = table.slots.iter().filter(|(_, (_, slot))| Arc::strong_count(slot) == 1);
            let Some(oldest) =
                idle.min_by_key(|(_, (used, _))| *used).map(|(round, _)| round.clone())
            else {
                break;
            };
            evicted.extend(table.slots.remove(&oldest).map(|(_, slot)| slot));
        }
        let slot = Slot::default();
        table.slots.insert(round.clone(), (used, slot.clone()));
        (slot, evicted)
    }

    /// Returns the slot of a round, if there is one.
    pub(super) fn get(&self, round: &RoundRef) -> Option<Slot> {
        lock(&self.0).slots.get(round).map(|(_, slot)| slot.clone())
    }

    /// Removes and returns all slots.
    pub(super) fn drain(&self) -> Vec<Slot> {
        lock(&self.0).slots.drain().map(|(_, (_, slot))| slot).collect()
    }
}

/// Takes a lock. After a panic the slot holds no open file, which is a valid state.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
