//! Runs with every fault that can happen within a process, compared with a run without faults.

use std::sync::Arc;

use context_runtime::trajectory::{RecordError, RoundRecord, Trajectory};
use context_simulator::Random;
use context_simulator::faults::{Fault, FaultPlan, Operation};
use tokio::task::JoinSet;

use crate::SEED;
use crate::process::Process;
use crate::run_storage::{Channels, RunStorage};
use crate::script::Script;

/// The number of conversations that run concurrently, each in folders of its own.
const WORKERS: usize = 4;

/// The rounds after each number of steps, from zero.
pub(crate) type States = Vec<Vec<RoundRecord>>;

pub(crate) async fn every_conversation_that_is_killed_and_restored_is_as_if_it_never_was(
    all: Arc<Vec<Script>>,
) {
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let all = all.clone();
        workers.spawn(async move {
            let scripts = (SEED..).zip(&*all).skip(worker).step_by(WORKERS);
            live_all(scripts).await
        });
    }
    let counts = workers.join_all().await;
    let (rounds, deaths) = counts.iter().fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1));
    assert!(rounds > 2 * all.len() && deaths > 2 * all.len(), "{rounds} rounds, {deaths} deaths");
}

/// Returns how many rounds there were, and how many processes died.
async fn live_all(scripts: impl Iterator<Item = (u64, &Script)>) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str, channels| {
        let folder = folder.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        RunStorage::new(&folder, channels)
    };
    let calm = place("calm", Channels::Both);
    let rough = [place("both", Channels::Both), place("files", Channels::Files)];
    let (mut rounds, mut deaths) = (0, 0);
    for (seed, script) in scripts {
        let (states, whole) = undisturbed(script, &calm).await;
        assert!(whole.rounds().count() > 1, "{} has several rounds", script.name);
        rounds += whole.rounds().count();
        for place in &rough {
            let life = format!("{}, {:?}, seed {seed:#x}", script.name, place.channels);
            deaths += FaultRun { script, place, states: &states, life: &life }.live(seed).await;
            let again = Process::start(place, FaultPlan::default()).await.trajectory(script).await;
            same(&again, &whole, &life);
        }
    }
    (rounds, deaths)
}

/// Returns the result of a conversation without faults, which is the same in both channels.
pub(crate) async fn undisturbed(script: &Script, place: &RunStorage) -> (States, Trajectory) {
    let process = Process::start(place, FaultPlan::default()).await;
    let mut states: States = vec![Vec::new()];
    for n in 0..script.steps.len() {
        process.step(script, n).await.unwrap();
        let round = process.round(script, n).await;
        let mut rounds = states[n].clone();
        match rounds.iter_mut().find(|other| other.head.round == round.head.round) {
            Some(older) => *older = round,
            None => rounds.push(round),
        }
        states.push(rounds);
    }
    for (before, after) in states.iter().zip(&states[1..]) {
        let commits =
            |rounds: &[RoundRecord]| rounds.iter().map(|round| round.head.revision).sum::<u64>();
        assert_eq!(commits(before) + 1, commits(after), "{}: a step is a commit", script.name);
    }
    for stored in place.stored(&script.agent).await {
        assert!(states.last() == Some(&stored), "{}: a channel holds something else", script.name);
        let bridged =
            |round: &RoundRecord| round.edges.iter().any(|edge| edge.from.round != edge.to.round);
        assert!(!stored.iter().any(bridged), "{}: bridges are not stored", script.name);
    }
    let whole = process.trajectory(script).await;
    (states, whole)
}

/// Checks for the same nodes, edges and bridges, in the same order.
fn same(seen: &Trajectory, expected: &Trajectory, life: &str) {
    assert!(seen.nodes().eq(expected.nodes()), "{life}: nodes");
    assert!(seen.edges().eq(expected.edges()), "{life}: edges");
    assert_eq!(seen.bridges(), expected.bridges(), "{life}");
    assert!(seen.order().eq(expected.order()), "{life}: order");
    let rounds = expected.rounds().count();
    assert!(expected.bridges().len() >= rounds - 1, "{life}: every round leads to the next");
}

struct FaultRun<'a> {
    script: &'a Script,
    place: &'a RunStorage,
    states: &'a States,
    life: &'a str,
}

impl FaultRun<'_> {
    /// Runs it to the end, with as many processes as needed. Returns how many died.
    async fn live(&self, seed: u64) -> usize {
        let Self { script, place, states, life } = self;
        let mut random = Random::new(seed);
        // The acknowledged steps, and how many more or fewer there may be.
        let (mut done, mut more, mut less, mut deaths) = (0, 0, 0, 0);
        while done < script.steps.len() || more + less > 0 {
            let process = Process::start(place, plan(&mut random)).await;
            let restored = match process.restored(&script.agent).await {
                Ok(restored) => restored,
                Err(error) => {
                    died(&error, life);
                    deaths += 1;
                    continue;
                }
            };
            let possible = done - less..=done + more;
            let there = possible.clone().find(|steps| states[*steps] == restored);
            done = there.unwrap_or_else(|| {
                panic!(
                    "{life}: after {deaths} deaths the rounds are not those after any of {possible:?} steps"
                )
            });
            (more, less) = (0, 0);
            while done < script.steps.len() {
                match process.step(script, done).await {
                    Ok(()) => done += 1,
                    Err(error) => {
                        died(&error, life);
                        more = 1;
                        break;
                    }
                }
                if random.one_in(8) {
                    break;
                }
            }
            drop(process);
            let newest = (done + more).checked_sub(1);
            if let Some(newest) = newest.filter(|_| more > 0 || done < script.steps.len()) {
                deaths += 1;
                let torn = random.one_in(2)
                    && place.cut(&script.agent, script.steps[newest].round, &mut random);
                // A record that one channel lost is in the other.
                less = usize::from(torn && place.channels == Channels::Files && done > 0);
            }
        }
        for stored in place.stored(&script.agent).await {
            assert!(states.last() == Some(&stored), "{life}: a channel holds something else");
        }
        deaths
    }
}

/// Returns a plan in which the store fails at one of the first writes of a process, before or after
/// it takes effect, in most cases.
fn plan(random: &mut Random) -> FaultPlan {
    let fault = [Fault::BeforeApply, Fault::AfterApply][random.below(2)];
    FaultPlan::default().with(Operation::RecordRound, random.below(24) as u32, fault)
}

/// Checks that nothing but the store failed.
fn died(error: &RecordError, life: &str) {
    assert!(matches!(error, RecordError::Store(_)), "{life}: {error}");
}
