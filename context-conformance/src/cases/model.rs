//! Random operations on a chat, compared with the model after every step.
//!
//! A failing sequence is shrunk before it is shown, and the failure says how to run it again.

use std::fmt::Write;

use crate::case::cases;
use crate::checked::{Checked, Stop};
use crate::lab::Lab;
use crate::life::Life;
use crate::shrink::Shrinker;
use crate::step::Step;

cases!("model": random_lives_look_as_they_must, long_lives_look_as_they_must);

async fn fails(lab: &Lab, steps: &[Step]) -> Checked<Option<String>> {
    let mut life = Life::begin(lab.life().await?, None).await?;
    match life.live(steps).await {
        Ok(()) => Ok(None),
        Err(Stop::Fail(text)) => Ok(Some(text)),
        Err(skip) => Err(skip),
    }
}

async fn shortest(lab: &Lab, steps: Vec<Step>, mut text: String) -> Checked<(Vec<Step>, String)> {
    let mut shrinker = Shrinker::new(steps);
    while let Some(fewer) = shrinker.fewer() {
        if let Some(still) = fails(lab, &fewer).await? {
            shrinker.fails_too();
            text = still;
        }
    }
    Ok((shrinker.shortest(), text))
}

async fn lives(lab: &Lab, lives: u64, length: usize) -> Checked {
    for i in 0..lives {
        let seed = lab.settings.seed.wrapping_add(i);
        let steps = Step::life(seed, length);
        let Some(text) = fails(lab, &steps).await? else { continue };
        let (steps, text) = shortest(lab, steps, text).await?;
        let mut report = format!("{text}\nafter these steps:");
        for (i, step) in steps.iter().enumerate() {
            let _ = write!(report, "\n  {i} {step:?}");
        }
        let _ = write!(
            report,
            "\nagain: CONTEXT_CONFORMANCE_SEED={seed:#x} CONTEXT_CONFORMANCE_CASES=1"
        );
        return Err(Stop::Fail(report));
    }
    Ok(())
}

async fn random_lives_look_as_they_must(lab: &Lab) -> Checked {
    lives(lab, lab.settings.sequences.into(), 30).await
}

/// Runs fewer but longer sequences, so that chats grow and get boundaries.
async fn long_lives_look_as_they_must(lab: &Lab) -> Checked {
    lives(lab, u64::from(lab.settings.sequences).div_ceil(20), 150).await
}
