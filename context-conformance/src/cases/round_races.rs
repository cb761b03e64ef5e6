//! Cases about concurrent tasks on one round: each revision once, no partial commits, and lost
//! replies are detected.

use std::sync::Arc;

use context_core::store::{RecordOutcome, RoundQuery};
use context_core::trajectory::{Changes, Round, RoundState};

use super::concurrency::{race, read_beside};
use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::child::{Task, Work, recorder};
use crate::expect::{ensure, fail, same};
use crate::polls::polled;
use crate::round_fixture::RoundFixture;
use crate::verdict::{Check, Stop};
use crate::worker::Worker;
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};

cases!("round_races":
    one_of_sixteen_commits_is_applied if Trajectories,
    one_of_sixteen_through_two_handles if SecondHandle,
    one_of_sixteen_creates_it if Trajectories,
    the_same_commit_at_once_is_applied_once if Trajectories,
    retrying_recorders_lose_nothing if Trajectories,
    retrying_recorders_of_two_handles_lose_nothing if SecondHandle,
    recorders_of_several_processes_lose_nothing if SecondProcess,
    agents_do_not_wait_for_each_other if Trajectories,
    readers_see_whole_commits if Trajectories,
    a_lost_reply_is_found_out_by_the_same_commit if Trajectories,
    a_dropped_commit_is_whole_or_absent if Trajectories,
);

const RACERS: usize = 16;
/// The maximum number of polls after which a commit is dropped.
const MOST_POLLS: usize = 100;

async fn race_for_revisions(fixtures: &[ChatFixture]) -> Check {
    let mut round_fixture = fixtures[0].asked("s", 0).await?;
    for turn in 0..6u64 {
        let results = race(RACERS, |i| {
            let mut own = round_fixture.clone();
            own.fixture = fixtures[i % fixtures.len()].clone();
            async move {
                let leaf = own.conclude(own.query(), &format!("{turn}, {i}"))?;
                own.change(leaf, &Changes::new().set("goal", format!("{i}")))?;
                let mut commit = own.commit();
                commit.key = format!("{turn}-{i}").into();
                let outcome = own.fixture.record(&commit).await?;
                Ok((outcome, own))
            }
        })
        .await?;
        let (won, lost): (Vec<_>, Vec<_>) =
            results.into_iter().partition(|(outcome, _)| *outcome == RecordOutcome::Applied);
        same(format!("how many of {RACERS} were applied as commit {turn}"), &won.len(), &1)?;
        let expected = RecordOutcome::Conflict { actual: turn + 2 };
        for (outcome, _) in lost {
            same("what the others were told", &outcome, &expected)?;
        }
        let Some((_, winner)) = won.into_iter().next() else { return fail("nobody won") };
        round_fixture = winner;
        round_fixture.matches_model("a race").await?;
    }
    same("what check() found", &fixtures[0].findings().await?, &Vec::new())
}

async fn one_of_sixteen_commits_is_applied(case: &CaseContext) -> Check {
    race_for_revisions(&[case.fixture().await?]).await
}

async fn one_of_sixteen_through_two_handles(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("two").await?;
    fixture.trajectories()?;
    let second = fixture.through(case.second_handle("two").await?);
    race_for_revisions(&[fixture, second]).await
}

async fn one_of_sixteen_creates_it(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for round in 0..4 {
        let outcomes = race(RACERS, |i| {
            let mut round_fixture = fixture.round("s", round);
            async move {
                round_fixture.ask(&format!("{i}"))?;
                let mut commit = round_fixture.commit();
                commit.key = format!("{round}-{i}").into();
                Ok((round_fixture.fixture.record(&commit).await?, round_fixture))
            }
        })
        .await?;
        let won: Vec<_> =
            outcomes.iter().filter(|(outcome, _)| *outcome == RecordOutcome::Applied).collect();
        same("how many created the round", &won.len(), &1)?;
        let told = outcomes
            .iter()
            .filter(|(outcome, _)| *outcome == RecordOutcome::Conflict { actual: 1 });
        same("how many were told that it is there", &told.count(), &(RACERS - 1))?;
        won[0].1.matches_model("a race to create it").await?;
    }
    same(
        "how many rounds there are",
        &fixture.heads_of(&RoundQuery::of_user("ada")).await?.len(),
        &4,
    )
}

async fn the_same_commit_at_once_is_applied_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut round_fixture = fixture.round("s", 0);
    let mut last = round_fixture.ask("why?")?;
    for turn in 0..3 {
        let commit = round_fixture.commit();
        let outcomes = race(RACERS, |_| {
            let (fixture, commit) = (fixture.clone(), commit.clone());
            async move { fixture.record(&commit).await }
        })
        .await?;
        let count =
            |wanted: RecordOutcome| outcomes.iter().filter(|outcome| **outcome == wanted).count();
        let seen = (count(RecordOutcome::Applied), count(RecordOutcome::Replayed));
        same(
            format!("commit {turn}, 16 times at once: applied, replayed"),
            &seen,
            &(1, RACERS - 1),
        )?;
        round_fixture.matches_model("the same commit 16 times at once").await?;
        last = round_fixture.conclude(last, &format!("{turn}"))?;
    }
    Ok(())
}

/// Adds conclusions to a round from several tasks, each after a fresh read.
async fn record_until_applied(fixtures: &[ChatFixture], recorders: usize, each: usize) -> Check {
    let round_fixture = fixtures[0].asked("s", 0).await?;
    race(recorders, |i| {
        let fixture = fixtures[i % fixtures.len()].clone();
        async move { recorder(&fixture, &format!("w{i}"), each, |_| Ok(())).await }
    })
    .await?;
    all_recorded(&round_fixture, recorders, each).await
}

/// Expects all conclusions of each recorder, in order, and one revision per commit.
async fn all_recorded(round_fixture: &RoundFixture, recorders: usize, each: usize) -> Check {
    let record = round_fixture.fixture.load(round_fixture.reference()).await?;
    let record = record.ok_or_else(|| Stop::Fail("the round is gone".into()))?;
    let all = (recorders * each) as u64;
    same("the revision after every commit was applied", &record.head.revision, &(1 + all))?;
    let round = Round::from_record(record)?;
    same("how many nodes there are", &(round.len() as u64), &(1 + all))?;
    for i in 0..recorders {
        let own = round.nodes().map(|node| node.label.to_string()).filter(|label| {
            label.strip_prefix(&format!("w{i}-")).is_some_and(|rest| rest.parse::<usize>().is_ok())
        });
        let expected: Vec<_> = (0..each).map(|n| format!("w{i}-{n}")).collect();
        same(format!("what recorder {i} added"), &own.collect(), &expected)?;
    }
    same("what check() found", &round_fixture.fixture.findings().await?, &Vec::new())
}

async fn retrying_recorders_lose_nothing(case: &CaseContext) -> Check {
    record_until_applied(&[case.fixture().await?], RACERS, 6).await
}

async fn retrying_recorders_of_two_handles_lose_nothing(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("two").await?;
    fixture.trajectories()?;
    let second = fixture.through(case.second_handle("two").await?);
    record_until_applied(&[fixture, second], 8, 8).await
}

async fn recorders_of_several_processes_lose_nothing(case: &CaseContext) -> Check {
    const CHILDREN: usize = 3;
    const EACH: usize = 15;
    let fixture = case.fixture_in("processes").await?;
    let round_fixture = fixture.asked("s", 0).await?;
    let location = case.location("processes")?;
    let start = |i| {
        let work = Work::Record { name: format!("w{i}"), nodes: EACH };
        Worker::start(&Task { location: location.clone(), work })
    };
    let mut workers = (1..=CHILDREN).map(start).collect::<Check<Vec<_>>>()?;
    workers.iter_mut().try_for_each(Worker::go)?;
    recorder(&fixture, "w0", EACH, |_| Ok(())).await?;
    for worker in workers {
        same("what a child was told", &worker.ended().await?.len(), &EACH)?;
    }
    all_recorded(&round_fixture, CHILDREN + 1, EACH).await
}

async fn agents_do_not_wait_for_each_other(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.trajectories()?;
    let diaries = race(RACERS, |i| {
        let fixture = fixture.clone();
        async move {
            let agent =
                context_core::trajectory::AgentRef::new("ada", format!("s{}", i % 3), i as u32);
            let mut round_fixture = RoundFixture::new(&fixture, agent.round(0));
            let mut last = round_fixture.ask("why?")?;
            for n in 0..8 {
                round_fixture.record().await?;
                last = round_fixture.conclude(last, &format!("{n}"))?;
            }
            round_fixture.record().await?;
            Ok(round_fixture)
        }
    })
    .await?;
    for round_fixture in &diaries {
        round_fixture.matches_model("16 agents at once").await?;
    }
    same(
        "how many rounds are listed",
        &fixture.heads_of(&RoundQuery::of_user("ada").limit(5)).await?.len(),
        &RACERS,
    )
}

/// Checks that a reader sees a multiple of three conclusions besides the question, since every
/// commit adds three. The reader never sees a node without its edge, or the head of another commit.
async fn readers_see_whole_commits(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let reader = fixture.asked("s", 0).await?;
    let mut writer = reader.clone();
    let write = async move {
        for i in 0..20 {
            for n in 0..3 {
                writer.conclude(writer.query(), &format!("{i}, {n}"))?;
            }
            writer.record().await?;
        }
        Ok(())
    };
    read_beside(3, write, move || {
        let reader = reader.clone();
        async move {
            let record = reader.fixture.load(reader.reference()).await?;
            let record = record.ok_or_else(|| Stop::Fail("the round is gone".into()))?;
            let seen = (record.nodes.len(), record.edges.len(), record.head.nodes as usize);
            let nodes = 1 + 3 * (record.head.revision as usize - 1);
            same("nodes, edges, nodes of the head", &seen, &(nodes, nodes - 1, nodes))
        }
    })
    .await
}

async fn a_lost_reply_is_found_out_by_the_same_commit(case: &CaseContext) -> Check {
    let plain = case.fixture().await?;
    plain.trajectories()?;
    let plan = FaultPlan::default()
        .with(Operation::RecordRound, 0, Fault::AfterApply)
        .with(Operation::RecordRound, 2, Fault::BeforeApply)
        .with(Operation::RecordRound, 4, Fault::AfterApply);
    let fixture = plain.through(Arc::new(FaultStore::new(Arc::clone(&plain.store), plan)));
    let mut round_fixture = fixture.round("s", 0);
    let mut last = round_fixture.ask("why?")?;
    for (label, expected) in [
        ("a reply that was lost", RecordOutcome::Replayed),
        ("a call that did not arrive", RecordOutcome::Applied),
        ("another lost reply", RecordOutcome::Replayed),
    ] {
        let commit = round_fixture.commit();
        let lost = fixture.trajectories()?.record_round(&commit).await;
        ensure(lost.is_err(), || format!("{label}: nothing went wrong"))?;
        let again = fixture.trajectories()?.record_round(&commit).await?;
        same(format!("the same commit after {label}"), &again, &expected)?;
        round_fixture.fixture = plain.clone();
        round_fixture.matches_model(label).await?;
        round_fixture.fixture = fixture.clone();
        last = round_fixture.conclude(last, label)?;
    }
    Ok(())
}

async fn a_dropped_commit_is_whole_or_absent(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for polls in 0..MOST_POLLS {
        let mut round_fixture = fixture.asked(&format!("s{polls}"), 0).await?;
        let before = round_fixture.round.to_record();
        for i in 0..5 {
            let leaf = round_fixture.conclude(round_fixture.query(), &format!("{i}"))?;
            round_fixture.change(leaf, &Changes::new().set("goal", "changed"))?;
        }
        round_fixture.set_state(RoundState::Interrupted);
        let commit = round_fixture.commit();
        let ended =
            polled(fixture.trajectories()?.record_round(&commit), polls).await.transpose()?;
        let seen = fixture.load(round_fixture.reference()).await?;
        let whole = seen.as_ref() == Some(&before)
            || seen.as_ref() == Some(&round_fixture.round.to_record());
        ensure(whole, || {
            format!("a commit dropped after {polls} polls is there in part: {seen:?}")
        })?;
        match fixture.record(&commit).await? {
            RecordOutcome::Replayed => {}
            RecordOutcome::Applied if ended.is_none() => {}
            other => {
                return fail(format!(
                    "a commit dropped after {polls} polls, repeated: saw {other:?}"
                ));
            }
        }
        round_fixture
            .matches_model(&format!("a commit that was dropped after {polls} polls and repeated"))
            .await?;
        if ended.is_some() {
            break;
        }
    }
    same("what check() found", &fixture.findings().await?, &Vec::new())
}
