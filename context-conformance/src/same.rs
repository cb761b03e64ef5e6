//! Several stores beside each other: the same calls, in the same order, must come to the same.

mod ago;
mod memories;
mod moves;
mod play;
mod rounds;
mod streams;
mod table;

use std::fmt;
use std::sync::Arc;

use context_core::{CancelSignal, Result};

use crate::checked::Stop;
use crate::random::Random;
use crate::settings::Settings;
use crate::shrink::Shrinker;
use crate::subject::Subject;
use moves::Move;
use play::Play;
use table::Table;

/// How many moves a sequence has.
const MOVES: usize = 40;

/// Where two stores came apart: the shortest sequence that was found to do it. `Display` tells it
/// all.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// The seed of the sequence.
    pub seed: u64,
    /// What was done, and what each of the two stores saw.
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

/// Plays random sequences of the calls of the seam to all subjects, and says where the first two
/// come apart: what a call answers (of errors, their kind), and after it everything that is seen of
/// the chat. Sequences write, amend, redact, delete, fork, rename, list, search, keep blobs and
/// streams in several chats of two users, record rounds of trajectories, write, find and forget
/// memories, and erase them in the end; a store that lacks an optional ability is not compared in
/// it. At last every store checks itself.
///
/// The settings say where it begins and how many sequences there are. Each subject is opened once.
///
/// # Errors
///
/// If a subject cannot be opened or checked.
pub async fn find_difference(
    subjects: &[Arc<dyn Subject>],
    settings: &Settings,
) -> Result<Option<Difference>> {
    let table = Table::open(subjects).await?;
    let mut tries = 0;
    let mut played = async |moves: &[(usize, Move)]| {
        tries += 1;
        let playing = async { Play::begin(&table, tries).await?.play(moves).await };
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
        let told = |(chat, what): &(usize, Move)| format!("chat {chat}, {what:?}");
        let moves = shrinker.shortest().iter().map(told).collect();
        return Ok(Some(Difference { seed, text, moves }));
    }
    for seat in &table.0 {
        let Some(maintenance) = seat.store.maintenance() else { continue };
        let report = maintenance.check(&CancelSignal::never()).await?;
        if let Some(finding) = report.findings.first() {
            let text = format!(
                "after all sequences, {} found of itself: {finding}",
                seat.store.info().name
            );
            return Ok(Some(Difference { seed: settings.seed, text, moves: Vec::new() }));
        }
    }
    Ok(None)
}

/// Panics unless all subjects come to the same; see [`find_difference`].
///
/// # Panics
///
/// With what came apart, or with the error of a subject that cannot be opened.
pub async fn assert_same(subjects: &[Arc<dyn Subject>], settings: &Settings) {
    match find_difference(subjects, settings).await {
        Ok(None) => {}
        Ok(Some(difference)) => panic!("stores that must come to the same do not: {difference}"),
        Err(error) => panic!("stores that must come to the same do not open: {error:?}"),
    }
}
