//! Differential tests: several stores must give the same results for the same calls in the same
//! order.

mod memories;
mod moves;
mod play;
mod rounds;
mod store_set;
mod streams;
mod timestamp;

use std::fmt;
use std::sync::Arc;

use context_core::{CancelSignal, Result};

use crate::settings::CaseSettings;
use crate::shrink::Shrinker;
use crate::store_fixture::StoreFixture;
use crate::verdict::Stop;
use context_simulator::Random;
use moves::Move;
use play::Playback;
use store_set::StoreSet;

/// The number of moves of a sequence.
const MOVES: usize = 40;

/// The difference between two stores, with the shortest sequence of moves found that produces it.
/// `Display` prints everything.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// The seed of the sequence.
    pub seed: u64,
    /// The last move, and what each of the two stores returned.
    pub text: String,
    /// The moves of the shortest sequence, in order.
    pub moves: Vec<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if !self.moves.is_empty() {
            f.write_str("\nafter these moves:")?;
        }
        for (i, did) in self.moves.iter().enumerate() {
            write!(f, "\n  {i} {did}")?;
        }
        write!(f, "\nagain: CONTEXT_CONFORMANCE_SEED={:#x} CONTEXT_CONFORMANCE_CASES=1", self.seed)
    }
}

/// Plays random sequences of store calls to all subjects, and returns the first difference between
/// two of them. Compared are the result of each call (for errors, their kind) and then the whole
/// visible state of the chat. Sequences write, amend, redact, delete, fork, rename, list, search,
/// store blobs and streams in several chats of two users, record rounds of trajectories, write,
/// find and forget memories, and erase memories at the end. Optional abilities are compared only
/// between stores that have them. Finally every store checks itself.
///
/// The settings give the first seed and the number of sequences. Each subject is opened once.
///
/// # Errors
///
/// If a subject cannot be opened or checked.
pub async fn find_difference(
    subjects: &[Arc<dyn StoreFixture>],
    settings: &CaseSettings,
) -> Result<Option<Difference>> {
    let stores = StoreSet::open(subjects).await?;
    let mut tries = 0;
    let mut played = async |moves: &[(usize, Move)]| {
        tries += 1;
        let playing = async { Playback::begin(&stores, tries).await?.play(moves).await };
        playing.await.err().map(|stop| match stop {
            Stop::Fail(text) | Stop::Skip(text) => text,
        })
    };
    for i in 0..settings.sequences {
        let seed = settings.seed.wrapping_add(i.into());
        let mut random = Random::new(seed);
        let moves: Vec<_> = (0..MOVES).map(|_| Move::random(&mut random)).collect();
        let Some(mut text) = played(&moves).await else { continue };
        let mut shrinker = Shrinker::new(moves);
        while let Some(fewer) = shrinker.fewer() {
            if let Some(still) = played(&fewer).await {
                shrinker.fails_too();
                text = still;
            }
        }
        let describe = |(chat, action): &(usize, Move)| format!("chat {chat}, {action:?}");
        let moves = shrinker.shortest().iter().map(describe).collect();
        return Ok(Some(Difference { seed, text, moves }));
    }
    for store in &stores.0 {
        let Some(maintenance) = store.store.maintenance() else { continue };
        let report = maintenance.check(&CancelSignal::never()).await?;
        if let Some(finding) = report.findings.first() {
            let text = format!(
                "after all sequences, {} found of itself: {finding}",
                store.store.info().name
            );
            return Ok(Some(Difference { seed: settings.seed, text, moves: Vec::new() }));
        }
    }
    Ok(None)
}

/// Panics unless all subjects give the same results; see [`find_difference`].
///
/// # Panics
///
/// If two subjects differ, or if a subject cannot be opened.
pub async fn assert_same(subjects: &[Arc<dyn StoreFixture>], settings: &CaseSettings) {
    match find_difference(subjects, settings).await {
        Ok(None) => {}
        Ok(Some(difference)) => panic!("stores that must come to the same do not: {difference}"),
        Err(error) => panic!("stores that must come to the same do not open: {error:?}"),
    }
}
