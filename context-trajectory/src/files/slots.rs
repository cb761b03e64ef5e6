//! Which rounds' files are open, at most so many.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_core::trajectory::RoundRef;

use super::round::OpenRound;

/// The most files that are kept open.
const MOST: usize = 32;

/// The place for one open file. Taken out while something is done to it, so that what fails half
/// way is not used again.
pub(super) type Slot = Arc<Mutex<Option<OpenRound>>>;

#[derive(Default)]
pub(super) struct Slots(Mutex<Known>);

#[derive(Default)]
struct Known {
    slots: HashMap<RoundRef, (u64, Slot)>,
    /// Counts uses, so that the oldest is known.
    uses: u64,
}

impl Slots {
    /// The slot of a round that is to be written to, and slots that have to give way.
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
            // One that is in use stays where it is: a second handle to its file would be right, but
            // slow.
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

    /// The slot of a round, if there is one.
    pub(super) fn known(&self, round: &RoundRef) -> Option<Slot> {
        lock(&self.0).slots.get(round).map(|(_, slot)| slot.clone())
    }

    /// Forgets all.
    pub(super) fn drain(&self) -> Vec<Slot> {
        lock(&self.0).slots.drain().map(|(_, (_, slot))| slot).collect()
    }
}

/// Takes a lock. What a panic left behind is a file that is not open, which is in order.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
