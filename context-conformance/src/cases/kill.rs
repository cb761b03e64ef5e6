//! Cases about killed writers: every acknowledged write is there, and no partial one.

use context_core::memory::MemoryForget;
use context_core::store::{CommitOutcome, RecordOutcome};
use context_core::{CancelSignal, Store};

use crate::action::{Action, Answer};
use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, ids, message};
use crate::child::{self, Task, Work, turn};
use crate::expect::{ensure, fail, same};
use crate::memory_fixture::{MemoryFixture, MemoryLife, MemoryStep};
use crate::round_fixture::RoundLife;
use crate::script::Script;
use crate::verdict::{Check, Stop};
use crate::visible_chat::VisibleChat;
use crate::worker::Worker;
use context_simulator::Random;

cases!("kill":
    a_killed_life_is_a_prefix if Kill,
    killed_writers_lose_no_turn if Kill,
    killed_while_the_store_is_created if Kill,
    a_killed_recorder_loses_no_commit if Kill,
    killed_while_it_remembers if Kill,
);

/// The number of killed processes per store.
const ROUNDS: usize = 12;
/// The maximum number of iterations between an acknowledgement and the kill.
const SPINS: usize = 30_000;

/// Runs a case on fresh stores until enough processes were killed. A failure reports the seed.
macro_rules! kills {
    ($case:expr, $share:expr, $run:ident) => {{
        let kills = ($case.settings.kills as usize).div_ceil($share);
        for n in 0..kills.div_ceil(ROUNDS) {
            let seed = $case.settings.seed.wrapping_add(n as u64);
            let rounds = ROUNDS.min(kills - n * ROUNDS);
            match $run($case, n, seed, rounds).await {
                Err(Stop::Fail(text)) => return fail(format!("{text}\nstore {n}, seed {seed:#x}")),
                result => result?,
            }
        }
        Ok(())
    }};
}

async fn a_killed_life_is_a_prefix(case: &CaseContext) -> Check {
    kills!(case, 4, killed_lives)
}

async fn killed_writers_lose_no_turn(case: &CaseContext) -> Check {
    kills!(case, 4, killed_turns)
}

async fn killed_while_the_store_is_created(case: &CaseContext) -> Check {
    kills!(case, 4, killed_creations)
}

async fn a_killed_recorder_loses_no_commit(case: &CaseContext) -> Check {
    kills!(case, 4, killed_recorders)
}

async fn killed_while_it_remembers(case: &CaseContext) -> Check {
    kills!(case, 4, killed_memories)
}

/// Checks the store after a process was killed.
async fn sound(store: &dyn Store) -> Check {
    let Some(maintenance) = store.maintenance() else { return Ok(()) };
    let report = maintenance.check(&CancelSignal::never()).await?;
    same("what check() found after a process was killed", &report.findings, &Vec::new())
}

async fn opened(case: &CaseContext, location: &str) -> Check<ChatFixture> {
    Ok(ChatFixture::new(child::open(case.subject(), location).await?, "ada", "chat"))
}

/// Checks that the chat is in the state after the acknowledged steps, or after one more.
async fn killed_lives(case: &CaseContext, n: usize, seed: u64, rounds: usize) -> Check {
    let name = format!("life-{n}");
    let fixture = ChatFixture::new(case.open(&name).await?, "ada", "chat");
    let _created = fixture.history().create_chat(Script::birth(fixture.chat.clone())).await?;
    let location = case.location(&name)?;
    drop(fixture);
    let mut random = Random::new(seed);
    let mut script = Script::new(context_core::ChatRef::new("ada", "chat"), true);
    let mut steps = child::steps(seed);
    let mut done = 0;
    for round in 0..rounds {
        let work = Work::Live { seed, done };
        let (lines, spins) = (random.below(9), random.below(SPINS));
        let told = Worker::start(&Task { location: location.clone(), work })?
            .killed_after(lines, spins)
            .await?
            .len();
        for step in steps.by_ref().take(told) {
            if let Some(action) = script.next(&step) {
                let _answer = script.expect(&action);
            }
        }
        done += told;
        let fixture = opened(case, &location).await?;
        let seen = VisibleChat::of(&fixture).await?;
        let has_ref_log = fixture.store.ref_log().is_some();
        let acknowledged = Some(script.model.visible(has_ref_log));
        if seen != acknowledged {
            // The next step was written, but its acknowledgement was lost.
            let step = steps.next().ok_or_else(|| Stop::Fail("no more steps".into()))?;
            let action = script.next(&step);
            let answer = action.as_ref().map(|action| script.expect(action));
            let did = format!(
                "the chat after kill {round}, {told} steps told, {done} in all, next {step:?}"
            );
            if seen != Some(script.model.visible(has_ref_log)) {
                same(format!("{did}: neither with it nor without"), &seen, &acknowledged)?;
            }
            done += 1;
            if let (
                Some(action @ Action::Commit(_)),
                Some(Ok(Answer::Commit(CommitOutcome::Applied(at)))),
            ) = (action, answer)
            {
                let again = action.perform(&fixture).await?;
                same(
                    format!("{did}, again"),
                    &again,
                    &Answer::Commit(CommitOutcome::Replayed(at)),
                )?;
            }
        }
        sound(&*fixture.store).await?;
    }
    Ok(())
}

async fn killed_turns(case: &CaseContext, n: usize, seed: u64, rounds: usize) -> Check {
    const WRITERS: usize = 4;
    let name = format!("turns-{n}");
    let fixture = case.fixture_in(&name).await?;
    fixture.applied(fixture.extend("", ["root"])).await?;
    for branch in 0..WRITERS {
        fixture.applied(fixture.fork(&format!("b{branch}"), "root", [])).await?;
    }
    let location = case.location(&name)?;
    drop(fixture);
    let mut random = Random::new(seed);
    let mut done = vec![0; WRITERS];
    for round in 0..rounds {
        let task = Task { location: location.clone(), work: Work::Turns { done: done.clone() } };
        let told =
            Worker::start(&task)?.killed_after(random.below(20), random.below(SPINS)).await?;
        let fixture = opened(case, &location).await?;
        for (branch, done) in done.iter_mut().enumerate() {
            let least = *done + told.iter().filter(|line| **line == branch.to_string()).count();
            let seen = ids(&fixture.whole(&format!("b{branch}")).await?);
            let turns = (seen.len() - 1) / 2;
            ensure((least..=least + 1).contains(&turns), || {
                format!(
                    "kill {round}, branch {branch}: {least} turns were acknowledged, {turns} are there"
                )
            })?;
            let mut expected = vec!["root".to_owned()];
            expected.extend((0..turns).flat_map(|n| turn(branch, n)));
            same(format!("kill {round}: branch {branch}"), &seen, &expected)?;
            *done = turns;
        }
        sound(&*fixture.store).await?;
    }
    Ok(())
}

async fn killed_creations(case: &CaseContext, n: usize, seed: u64, rounds: usize) -> Check {
    let mut random = Random::new(seed);
    for round in 0..rounds {
        let location = case.location(&format!("new-{n}-{round}"))?;
        let work = Work::Create { name: "chat".to_owned(), messages: 3 };
        let (lines, spins) = (random.below(4), random.below(10 * SPINS));
        let told = Worker::start(&Task { location: location.clone(), work })?
            .killed_after(lines, spins)
            .await?;
        let fixture = opened(case, &location).await?;
        let there = fixture.history().chat(&fixture.chat).await?.is_some();
        let created = told.iter().any(|line| line == "created");
        ensure(there || !created, || {
            format!("kill {round}: told that the chat was created, and it is not there")
        })?;
        fixture.create().await?;
        let seen = ids(&fixture.whole("main").await?);
        let least = told.iter().filter(|line| line.starts_with('m')).count();
        let expected: Vec<_> = (0..seen.len()).map(|i| format!("m{i}")).collect();
        same(format!("kill {round}: the first messages"), &seen, &expected)?;
        ensure((least..=least + 1).contains(&seen.len()), || {
            format!("kill {round}: {least} messages were acknowledged, {} are there", seen.len())
        })?;
        let head = seen.last().cloned().unwrap_or_default();
        let next = context_core::store::Commit {
            nodes: vec![message("next")],
            ..fixture.extend(&head, [])
        };
        fixture.applied(next).await?;
        sound(&*fixture.store).await?;
    }
    Ok(())
}

/// Checks that the round is in the state after the acknowledged commits, or after one more, and
/// that this one can be sent again.
async fn killed_recorders(case: &CaseContext, n: usize, seed: u64, rounds: usize) -> Check {
    let name = format!("rounds-{n}");
    let fixture = ChatFixture::new(case.open(&name).await?, "ada", "chat");
    fixture.trajectories()?;
    let location = case.location(&name)?;
    drop(fixture);
    let mut random = Random::new(seed);
    let mut done = 0;
    for round in 0..rounds {
        let work = Work::Rounds { seed, done };
        let (lines, spins) = (random.below(9), random.below(SPINS));
        let told = Worker::start(&Task { location: location.clone(), work })?
            .killed_after(lines, spins)
            .await?;
        done += told.len() as u64;
        let fixture = opened(case, &location).await?;
        let mut life = RoundLife::new(&fixture, seed);
        for _ in 0..done {
            let _commit = life.next();
        }
        let acknowledged = life.record();
        let next = life.next();
        let seen = fixture.load(&next.head.round).await?;
        let did = format!("kill {round}, {} commits told, {done} in all", told.len());
        if seen.as_ref().is_some_and(|seen| seen.head.revision == next.head.revision) {
            same(
                format!("{did}: the next one again"),
                &fixture.record(&next).await?,
                &RecordOutcome::Replayed,
            )?;
        } else {
            if acknowledged.head.revision > 0 {
                fixture.expect_round(&did, &acknowledged).await?;
            }
            same(
                format!("{did}: the next one"),
                &fixture.record(&next).await?,
                &RecordOutcome::Applied,
            )?;
        }
        fixture.expect_round(&did, &life.record()).await?;
        done += 1;
        sound(&*fixture.store).await?;
    }
    Ok(())
}

/// Checks that the memories are in the state after the acknowledged steps, or after one more.
async fn killed_memories(case: &CaseContext, n: usize, seed: u64, rounds: usize) -> Check {
    let name = format!("memories-{n}");
    let fixture = ChatFixture::new(case.open(&name).await?, "ada", "chat");
    fixture.memories()?;
    let location = case.location(&name)?;
    drop(fixture);
    let (mut random, mut life, mut done) = (Random::new(seed), MemoryLife::new(seed), 0);
    for round in 0..rounds {
        let work = Work::Memories { seed, done };
        let (lines, spins) = (random.below(9), random.below(SPINS));
        let told = Worker::start(&Task { location: location.clone(), work })?
            .killed_after(lines, spins)
            .await?
            .len();
        for _ in 0..told {
            let _step = life.next();
        }
        done += told;
        let fixture = opened(case, &location).await?;
        let did = format!("kill {round}, {told} steps told, {done} in all");
        let memories = MemoryFixture { fixture, model: life.model.clone() };
        if let Err(Stop::Fail(without)) = memories.matches_model(&did).await {
            // The next step was written, but its acknowledgement was lost.
            let step = life.next();
            done += 1;
            let memories = MemoryFixture { model: life.model.clone(), ..memories.clone() };
            let mut with = memories.matches_model(&did).await;
            if let (Err(_), MemoryStep::Forget(forget @ MemoryForget::Source { .. })) =
                (&with, &step)
            {
                // Forgetting by source may have removed some records only, each of them whole. The
                // same call removes the rest.
                sound(&*memories.fixture.store).await?;
                let _rest = memories.fixture.forget_memories(forget).await?;
                with = memories.matches_model(&did).await;
            }
            if let Err(Stop::Fail(with)) = with {
                return fail(format!("neither with {step:?} nor without: {without}; {with}"));
            }
        }
        sound(&*memories.fixture.store).await?;
    }
    Ok(())
}
