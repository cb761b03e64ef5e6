//! Random operations on a chat, compared with the model after every step.
//!
//! A failing sequence is shrunk before it is shown, and the failure says how to run it again.

use std::fmt::Write;

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::life::Life;
use crate::shrink::Shrinker;
use crate::step::Step;
use crate::verdict::{Check, Stop};

cases!("model": random_lives_look_as_they_must, long_lives_look_as_they_must);

async fn fails(case: &CaseContext, steps: &[Step]) -> Check<Option<String>> {
    let mut life = Life::begin(case.life().await?, None).await?;
    match life.live(steps).await {
        Ok(()) => Ok(None),
        Err(Stop::Fail(text)) => Ok(Some(text)),
        Err(skip) => Err(skip),
    }
}

async fn shortest(
    case: &CaseContext,
    steps: Vec<Step>,
    mut text: String,
) -> Check<(Vec<Step>, String)> {
    let mut shrinker = Shrinker::new(steps);
    while let Some(fewer) = shrinker.fewer() {
        if let Some(still) = fails(case, &fewer).await? {
            shrinker.fails_too();
            text = still;
        }
    }
    Ok((shrinker.shortest(), text))
}

async fn lives(case: &CaseContext, lives: u64, length: usize) -> Check {
    for i in 0..lives {
        let seed = case.settings.seed.wrapping_add(i);
        let steps = Step::life(seed, length);
        let Some(text) = fails(case, &steps).await? else { continue };
        let (steps, text) = shortest(case, steps, text).await?;
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

async fn random_lives_look_as_they_must(case: &CaseContext) -> Check {
    lives(case, case.settings.sequences.into(), 30).await
}

/// Runs fewer but longer sequences, so that chats grow and get boundaries.
async fn long_lives_look_as_they_must(case: &CaseContext) -> Check {
    lives(case, u64::from(case.settings.sequences).div_ceil(20), 150).await
}
