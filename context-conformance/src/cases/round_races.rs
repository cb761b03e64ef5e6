//! Cases about concurrent tasks on one round: each revision once, no partial commits, and lost
//! replies are detected.

use std::sync::Arc;

use context_core::store::{RecordOutcome, RoundQuery};
use context_core::trajectory::{Changes, Round, RoundState};

use super::concurrency::race;
use crate::case::cases;
use crate::checked::{Checked, Stop};
use crate::child::{Task, Work, recorder};
use crate::desk::Desk;
use crate::diary::Diary;
use crate::expect::{ensure, fail, same};
use crate::lab::Lab;
use crate::polls::polled;
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

async fn race_for_revisions(desks: &[Desk]) -> Checked {
    let mut diary = desks[0].asked("s", 0).await?;
    for turn in 0..6u64 {
        let results = race(RACERS, |i| {
            let mut own = diary.clone();
            own.desk = desks[i % desks.len()].clone();
            async move {
                let leaf = own.conclude(own.query(), &format!("{turn}, {i}"))?;
                own.change(leaf, &Changes::new().set("goal", format!("{i}")))?;
                let mut commit = own.commit();
                commit.key = format!("{turn}-{i}").into();
                let outcome = own.desk.record(&commit).await?;
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
        diary = winner;
        diary.is_kept("a race").await?;
    }
    same("what check() found", &desks[0].findings().await?, &Vec::new())
}

async fn one_of_sixteen_commits_is_applied(lab: &Lab) -> Checked {
    race_for_revisions(&[lab.desk().await?]).await
}

async fn one_of_sixteen_through_two_handles(lab: &Lab) -> Checked {
    let desk = lab.desk_in("two").await?;
    desk.trajectories()?;
    let second = desk.through(lab.second_handle("two").await?);
    race_for_revisions(&[desk, second]).await
}

async fn one_of_sixteen_creates_it(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    for round in 0..4 {
        let outcomes = race(RACERS, |i| {
            let mut diary = desk.diary("s", round);
            async move {
                diary.ask(&format!("{i}"))?;
                let mut commit = diary.commit();
                commit.key = format!("{round}-{i}").into();
                Ok((diary.desk.record(&commit).await?, diary))
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
        won[0].1.is_kept("a race to create it").await?;
    }
    same("how many rounds there are", &desk.heads_of(&RoundQuery::of_user("ada")).await?.len(), &4)
}

async fn the_same_commit_at_once_is_applied_once(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let mut diary = desk.diary("s", 0);
    let mut last = diary.ask("why?")?;
    for turn in 0..3 {
        let commit = diary.commit();
        let outcomes = race(RACERS, |_| {
            let (desk, commit) = (desk.clone(), commit.clone());
            async move { desk.record(&commit).await }
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
        diary.is_kept("the same commit 16 times at once").await?;
        last = diary.conclude(last, &format!("{turn}"))?;
    }
    Ok(())
}

/// Adds conclusions to a round from several tasks, each after a fresh read.
async fn record_until_applied(desks: &[Desk], recorders: usize, each: usize) -> Checked {
    let diary = desks[0].asked("s", 0).await?;
    race(recorders, |i| {
        let desk = desks[i % desks.len()].clone();
        async move { recorder(&desk, &format!("w{i}"), each, |_| Ok(())).await }
    })
    .await?;
    all_recorded(&diary, recorders, each).await
}

/// Expects all conclusions of each recorder, in order, and one revision per commit.
async fn all_recorded(diary: &Diary, recorders: usize, each: usize) -> Checked {
    let record = diary.desk.load(diary.reference()).await?;
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
    same("what check() found", &diary.desk.findings().await?, &Vec::new())
}

async fn retrying_recorders_lose_nothing(lab: &Lab) -> Checked {
    record_until_applied(&[lab.desk().await?], RACERS, 6).await
}

async fn retrying_recorders_of_two_handles_lose_nothing(lab: &Lab) -> Checked {
    let desk = lab.desk_in("two").await?;
    desk.trajectories()?;
    let second = desk.through(lab.second_handle("two").await?);
    record_until_applied(&[desk, second], 8, 8).await
}

async fn recorders_of_several_processes_lose_nothing(lab: &Lab) -> Checked {
    const CHILDREN: usize = 3;
    const EACH: usize = 15;
    let desk = lab.desk_in("processes").await?;
    let diary = desk.asked("s", 0).await?;
    let location = lab.location("processes")?;
    let start = |i| {
        let work = Work::Record { name: format!("w{i}"), nodes: EACH };
        Worker::start(&Task { location: location.clone(), work })
    };
    let mut workers = (1..=CHILDREN).map(start).collect::<Checked<Vec<_>>>()?;
    workers.iter_mut().try_for_each(Worker::go)?;
    recorder(&desk, "w0", EACH, |_| Ok(())).await?;
    for worker in workers {
        same("what a child was told", &worker.ended().await?.len(), &EACH)?;
    }
    all_recorded(&diary, CHILDREN + 1, EACH).await
}

async fn agents_do_not_wait_for_each_other(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.trajectories()?;
    let diaries = race(RACERS, |i| {
        let desk = desk.clone();
        async move {
            let agent =
                context_core::trajectory::AgentRef::new("ada", format!("s{}", i % 3), i as u32);
            let mut diary = Diary::new(&desk, agent.round(0));
            let mut last = diary.ask("why?")?;
            for n in 0..8 {
                diary.record().await?;
                last = diary.conclude(last, &format!("{n}"))?;
            }
            diary.record().await?;
            Ok(diary)
        }
    })
    .await?;
    for diary in &diaries {
        diary.is_kept("16 agents at once").await?;
    }
    same(
        "how many rounds are listed",
        &desk.heads_of(&RoundQuery::of_user("ada").limit(5)).await?.len(),
        &RACERS,
    )
}

/// Checks that a reader sees a multiple of three conclusions besides the question, since every
/// commit adds three. The reader never sees a node without its edge, or the head of another commit.
async fn readers_see_whole_commits(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let diary = desk.asked("s", 0).await?;
    race(4, |task| {
        let mut diary = diary.clone();
        async move {
            for i in 0..20 {
                if task == 0 {
                    for n in 0..3 {
                        diary.conclude(diary.query(), &format!("{i}, {n}"))?;
                    }
                    diary.record().await?;
                    continue;
                }
                let record = diary.desk.load(diary.reference()).await?;
                let record = record.ok_or_else(|| Stop::Fail("the round is gone".into()))?;
                let seen = (record.nodes.len(), record.edges.len(), record.head.nodes as usize);
                let nodes = 1 + 3 * (record.head.revision as usize - 1);
                same("nodes, edges, nodes of the head", &seen, &(nodes, nodes - 1, nodes))?;
                tokio::task::yield_now().await;
            }
            Ok(())
        }
    })
    .await
    .map(drop)
}

async fn a_lost_reply_is_found_out_by_the_same_commit(lab: &Lab) -> Checked {
    let plain = lab.desk().await?;
    plain.trajectories()?;
    let plan = FaultPlan::default()
        .with(Operation::RecordRound, 0, Fault::AfterApply)
        .with(Operation::RecordRound, 2, Fault::BeforeApply)
        .with(Operation::RecordRound, 4, Fault::AfterApply);
    let desk = plain.through(Arc::new(FaultStore::new(Arc::clone(&plain.store), plan)));
    let mut diary = desk.diary("s", 0);
    let mut last = diary.ask("why?")?;
    for (what, expected) in [
        ("a reply that was lost", RecordOutcome::Replayed),
        ("a call that did not arrive", RecordOutcome::Applied),
        ("another lost reply", RecordOutcome::Replayed),
    ] {
        let commit = diary.commit();
        let lost = desk.trajectories()?.record_round(&commit).await;
        ensure(lost.is_err(), || format!("{what}: nothing went wrong"))?;
        let again = desk.trajectories()?.record_round(&commit).await?;
        same(format!("the same commit after {what}"), &again, &expected)?;
        diary.desk = plain.clone();
        diary.is_kept(what).await?;
        diary.desk = desk.clone();
        last = diary.conclude(last, what)?;
    }
    Ok(())
}

async fn a_dropped_commit_is_whole_or_absent(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    for polls in 0..MOST_POLLS {
        let mut diary = desk.asked(&format!("s{polls}"), 0).await?;
        let before = diary.round.to_record();
        for i in 0..5 {
            let leaf = diary.conclude(diary.query(), &format!("{i}"))?;
            diary.change(leaf, &Changes::new().set("goal", "changed"))?;
        }
        diary.set_state(RoundState::Interrupted);
        let commit = diary.commit();
        let ended = polled(desk.trajectories()?.record_round(&commit), polls).await.transpose()?;
        let seen = desk.load(diary.reference()).await?;
        let whole =
            seen.as_ref() == Some(&before) || seen.as_ref() == Some(&diary.round.to_record());
        ensure(whole, || {
            format!("a commit dropped after {polls} polls is there in part: {seen:?}")
        })?;
        match desk.record(&commit).await? {
            RecordOutcome::Replayed => {}
            RecordOutcome::Applied if ended.is_none() => {}
            other => {
                return fail(format!(
                    "a commit dropped after {polls} polls, repeated: saw {other:?}"
                ));
            }
        }
        diary
            .is_kept(&format!("a commit that was dropped after {polls} polls and repeated"))
            .await?;
        if ended.is_some() {
            break;
        }
    }
    same("what check() found", &desk.findings().await?, &Vec::new())
}
