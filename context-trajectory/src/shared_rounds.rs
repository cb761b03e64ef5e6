//! The registry through which recorders of a process share their open rounds.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::channels::Channel;
use crate::open_rounds::OpenRounds;

/// The open rounds of the process, by channels.
static SHARED: Mutex<Vec<Weak<OpenRounds>>> = Mutex::new(Vec::new());

/// Returns the open rounds of the recorders that have the same channels in the same order, or
/// creates them with the limit `keep`.
pub(crate) fn shared_rounds(channels: &[Channel], keep: usize) -> Arc<OpenRounds> {
    let mut all = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut known = None;
    all.retain(|rounds| {
        let Some(rounds) = rounds.upgrade() else { return false };
        if rounds.has_channels(channels) {
            known = Some(rounds);
        }
        true
    });
    known.unwrap_or_else(|| {
        let created = Arc::new(OpenRounds::new(channels.to_vec(), keep));
        all.push(Arc::downgrade(&created));
        created
    })
}
