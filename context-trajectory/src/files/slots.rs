//! A bounded cache of open graph files.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_core::trajectory::RoundRef;

use super::round::OpenRound;

/// The largest number of files that are kept open.
const MOST: usize = 32;

/// The slot of one open file. The file is taken out while it is used, so that a file whose
/// operation failed half way is not used again.
pub(super) type Slot = Arc<Mutex<Option<OpenRound>>>;

#[derive(Default)]
pub(super) struct Slots(Mutex<Known>);

#[derive(Default)]
struct Known {
    slots: HashMap<RoundRef, (u64, Slot)>,
    /// The counter of uses, for least-recently-used eviction.
    uses: u64,
}

impl Slots {
    /// Returns the slot of a round for writing, and the slots that are evicted for it.
    pub(super) fn of(&self, round: &RoundRef) -> (Slot, Vec<Slot>) {
        let mut known = lock(&self.0);
        known.uses += 1;
        let used = known.uses;
        if let Some((last, slot)) = known.slots.get_mut(round) {
            *last = used;
            return (slot.clone(), Vec::new());
        }
        let mut gone = Vec::new();
        while known.slots.len() >= MOST {
            // A slot in use is not evicted: a second handle to its file would be correct, but slow.
            let idle = known.slots.iter().filter(|(_, (_, slot))| Arc::strong_count(slot) == 1);
            let Some(oldest) =
                idle.min_by_key(|(_, (used, _))| *used).map(|(round, _)| round.clone())
            else {
                break;
            };
            gone.extend(known.slots.remove(&oldest).map(|(_, slot)| slot));
        }
        let slot = Slot::default();
        known.slots.insert(round.clone(), (used, slot.clone()));
        (slot, gone)
    }

    /// Returns the slot of a round, if there is one.
    pub(super) fn known(&self, round: &RoundRef) -> Option<Slot> {
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
