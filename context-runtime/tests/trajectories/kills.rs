//! Processes that are killed from outside while they record.

use std::sync::Arc;

use context_simulator::Random;
use context_simulator::faults::FaultPlan;

use crate::SEED;
use crate::child::Task;
use crate::fault_runs::undisturbed;
use crate::process::Process;
use crate::run_storage::{Channels, RunStorage};
use crate::script::Script;

/// The number of conversations that are recorded by processes that are killed.
const CONVERSATIONS: usize = 3;
/// The maximum number of iterations between an acknowledgement and the kill.
const SPINS: usize = 60_000;

pub(crate) async fn a_process_that_is_killed_loses_no_step(all: Arc<Vec<Script>>) {
    let folder = tempfile::tempdir().unwrap();
    let calm = folder.path().join("calm");
    std::fs::create_dir(&calm).unwrap();
    let (calm, rough) =
        (RunStorage::new(&calm, Channels::Both), RunStorage::new(folder.path(), Channels::Both));
    let mut longest: Vec<&Script> = all.iter().collect();
    longest.sort_by_key(|script| std::cmp::Reverse(script.steps.len()));
    for (seed, script) in (SEED..).zip(longest.into_iter().take(CONVERSATIONS)) {
        let (states, _) = undisturbed(script, &calm).await;
        let messages = folder.path().join("messages.json");
        std::fs::write(&messages, serde_json::to_vec(&script.messages).unwrap()).unwrap();
        let mut random = Random::new(seed);
        let mut done = 0;
        for kill in 0.. {
            let life = format!("{}, kill {kill}, seed {seed:#x}", script.name);
            let task = Task {
                place: rough.clone(),
                conversation: script.name.clone(),
                messages: messages.clone(),
                done,
            };
            let told = task.killed_after(random.below(16), random.below(SPINS));
            let process = Process::start(&rough, FaultPlan::default()).await;
            let restored = process.restored(&script.agent).await.unwrap();
            // The acknowledgement of one more step may have been lost.
            let possible = done + told..=(done + told + 1).min(script.steps.len());
            let there = possible.clone().find(|steps| states[*steps] == restored);
            done = there.unwrap_or_else(|| {
                panic!("{life}: the rounds are not those after any of {possible:?} steps")
            });
            for stored in rough.stored(&script.agent).await {
                assert!(stored == restored, "{life}: a channel holds something else");
            }
            if done == script.steps.len() {
                assert!(kill > 1, "{life}: hardly anybody was killed");
                break;
            }
        }
    }
}
