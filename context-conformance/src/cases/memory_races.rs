//! Cases about concurrent tasks on memories: each record and each version once, no partial writes,
//! and a lost reply does no harm.

use std::sync::Arc;

use context_core::memory::{MemoryForget, MemoryScope};
use context_core::store::{MemoryExpected, MemoryFind, MemoryOutcome, MemoryWrite, MemoryWritten};

use super::concurrency::{race, read_beside};
use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::child::{Task, Work};
use crate::expect::{ensure, fail, same};
use crate::memory_fixture::MemoryFixture;
use crate::polls::polled;
use crate::verdict::Check;
use crate::worker::Worker;
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};

cases!("memory_races":
    one_of_sixteen_writes_each_record if Memories,
    one_of_sixteen_through_two_handles if SecondHandle,
    one_of_sixteen_writes_a_version if Memories,
    counting_by_versions_loses_nothing if Memories,
    counting_through_two_handles_loses_nothing if SecondHandle,
    counting_in_several_processes_loses_nothing if SecondProcess,
    readers_see_whole_writes if Memories,
    forgotten_while_it_is_written if Memories,
    a_lost_reply_is_found_out_by_the_same_write if Memories,
    a_dropped_write_is_whole_or_absent if Memories,
    a_dropped_forgetting_is_whole_or_absent if Memories,
);

const RACERS: usize = 16;
/// The maximum number of polls after which a call is dropped.
const MOST_POLLS: usize = 100;

fn ada() -> MemoryScope {
    MemoryScope::new("ada")
}

fn ids(of: impl IntoIterator<Item = usize>) -> Vec<String> {
    of.into_iter().map(|n| format!("m{n}")).collect()
}

/// Lets all racers write the same names, each in its own order, in overlapping batches.
async fn race_for_records(fixtures: &[ChatFixture]) -> Check {
    for round in 0..4 {
        let scope = ada().project(format!("p{round}"));
        let results = race(RACERS, |i| {
            let (fixture, scope) = (fixtures[i % fixtures.len()].clone(), scope.clone());
            async move {
                let mut written = Vec::new();
                for batch in 0..3 {
                    let mut names: Vec<_> = (batch * 2..batch * 2 + 6).collect();
                    if i % 2 == 0 {
                        names.reverse();
                    }
                    let writes: Vec<_> = names
                        .iter()
                        .map(|n| fixture.note(&scope, &format!("m{n}"), &format!("word by{i}")))
                        .collect();
                    match fixture.write_memories(&writes).await? {
                        MemoryOutcome::Applied(answers) => {
                            written.extend(names.into_iter().zip(answers))
                        }
                        other => {
                            return fail(format!("a write of what may be there: saw {other:?}"));
                        }
                    }
                }
                Ok((i, written))
            }
        })
        .await?;
        for n in 0..10 {
            let of_it = results.iter().flat_map(|(i, written)| {
                written.iter().filter(|(name, _)| *name == n).map(move |(_, answer)| (*i, *answer))
            });
            let (won, kept): (Vec<_>, Vec<_>) =
                of_it.partition(|(_, answer)| *answer == MemoryWritten::Written(1));
            same(format!("how many of {RACERS} wrote m{n} first"), &won.len(), &1)?;
            same(
                "what the others were told",
                &kept.iter().all(|(_, answer)| *answer == MemoryWritten::Unchanged(1)),
                &true,
            )?;
            let read = fixtures[0].memories()?.memories(&scope, &[format!("m{n}").into()]).await?;
            let text = read.first().map(|stored| stored.record.text.clone());
            same("whose it is", &text, &Some(format!("word by{}", won[0].0)))?;
        }
        let find = MemoryFind::new(vec![scope], vec!["word".into()], 100);
        same(
            "how many are found",
            &fixtures[0].memories()?.find_memories(&find).await?.hits.len(),
            &10,
        )?;
    }
    same("what check() found", &fixtures[0].findings().await?, &Vec::new())
}

async fn one_of_sixteen_writes_each_record(case: &CaseContext) -> Check {
    race_for_records(&[case.memory_fixture().await?.fixture]).await
}

async fn one_of_sixteen_through_two_handles(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("two").await?;
    fixture.memories()?;
    let second = fixture.through(case.second_handle("two").await?);
    race_for_records(&[fixture, second]).await
}

async fn one_of_sixteen_writes_a_version(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    for version in 0..6 {
        let results = race(RACERS, |i| {
            let fixture = memories.fixture.clone();
            let write = fixture.note(&ada(), "m", &format!("word by{i}"));
            let write = write.expected(MemoryExpected::Version(version));
            async move { Ok((fixture.write_memories(std::slice::from_ref(&write)).await?, write)) }
        })
        .await?;
        let written = MemoryOutcome::Applied(vec![MemoryWritten::Written(version + 1)]);
        let (won, lost): (Vec<_>, Vec<_>) =
            results.into_iter().partition(|(outcome, _)| *outcome == written);
        same(format!("how many of {RACERS} wrote version {version}"), &won.len(), &1)?;
        let Some((_, winner)) = won.into_iter().next() else { return fail("nobody won") };
        for (outcome, _) in lost {
            let MemoryOutcome::Conflict { write: 0, stored: Some(stored) } = outcome else {
                return fail(format!("what the others were told: saw {outcome:?}"));
            };
            let told = (stored.version, &stored.record.text);
            same("what is there instead", &told, &(version + 1, &winner.record.text))?;
        }
        let _same = memories.model.write(&[winner]);
        memories.matches_model("a race for a version").await?;
    }
    let find = MemoryFind::new(vec![ada()], (0..RACERS).map(|i| format!("by{i}")).collect(), 10);
    memories.finds("races for versions", &find).await?;
    same("what check() found", &memories.fixture.findings().await?, &Vec::new())
}

async fn count_at_once(fixtures: &[ChatFixture]) -> Check {
    const EACH: usize = 8;
    race(8, |i| {
        let fixture = fixtures[i % fixtures.len()].clone();
        async move { fixture.count_up("m", EACH).await }
    })
    .await?;
    let there = fixtures[0].memories()?.memories(&ada(), &["m".into()]).await?;
    let seen = there.first().map(|stored| (stored.version, stored.record.text.clone()));
    same("version and count", &seen, &Some((8 * EACH as u64, (8 * EACH).to_string())))
}

async fn counting_by_versions_loses_nothing(case: &CaseContext) -> Check {
    count_at_once(&[case.memory_fixture().await?.fixture]).await
}

async fn counting_through_two_handles_loses_nothing(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("count").await?;
    fixture.memories()?;
    let second = fixture.through(case.second_handle("count").await?);
    count_at_once(&[fixture, second]).await
}

async fn counting_in_several_processes_loses_nothing(case: &CaseContext) -> Check {
    const CHILDREN: usize = 3;
    const EACH: usize = 10;
    let fixture = case.fixture_in("processes").await?;
    fixture.memories()?;
    let location = case.location("processes")?;
    let start =
        |_| Worker::start(&Task { location: location.clone(), work: Work::Count { times: EACH } });
    let mut workers = (0..CHILDREN).map(start).collect::<Check<Vec<_>>>()?;
    workers.iter_mut().try_for_each(Worker::go)?;
    fixture.count_up("m", EACH).await?;
    for worker in workers {
        worker.ended().await?;
    }
    let there = fixture.memories()?.memories(&ada(), &["m".into()]).await?;
    let count = there.first().map(|stored| stored.record.text.clone());
    same("the count of all processes", &count, &Some(((CHILDREN + 1) * EACH).to_string()))
}

/// Checks that reads are consistent. Every write gives four records of two scopes the same text, so
/// two records of one scope always have one text, and a search finds records that match.
async fn readers_see_whole_writes(case: &CaseContext) -> Check {
    let memories = case.memory_fixture().await?;
    let session = ada().session("s");
    let (writer, scope) = (memories.fixture.clone(), session.clone());
    let write = async move {
        for i in 0..25 {
            let places = [(&scope, "a"), (&scope, "b"), (&ada(), "a"), (&ada(), "b")];
            let writes = places.map(|(scope, id)| {
                let note = writer.note(scope, id, &format!("word w{i}"));
                note.expected(MemoryExpected::Anything)
            });
            let _written = writer.write_memories(&writes).await?;
        }
        Ok(())
    };
    let reader = memories.fixture.clone();
    read_beside(3, write, move || {
        let (fixture, session) = (reader.clone(), session.clone());
        async move {
            let read = fixture.memories()?.memories(&session, &["a".into(), "b".into()]).await?;
            let texts: Vec<_> =
                read.iter().map(|stored| (&stored.record.text, stored.version)).collect();
            ensure(texts.is_empty() || (texts.len() == 2 && texts[0] == texts[1]), || {
                format!("two records that are written together: saw {texts:?}")
            })?;
            let find = MemoryFind::new(vec![ada(), session], vec!["word".into()], 10);
            let hits = fixture.memories()?.find_memories(&find).await?.hits;
            let is_whole = hits.is_empty() || hits.len() == 4;
            same("whether all four are found or none", &is_whole, &true)
        }
    })
    .await?;
    same("what check() found", &memories.fixture.findings().await?, &Vec::new())
}

async fn forgotten_while_it_is_written(case: &CaseContext) -> Check {
    let memories = case.memory_fixture().await?;
    race(4, |task| {
        let fixture = memories.fixture.clone();
        async move {
            for i in 0..25 {
                let writes = ["a", "b"].map(|id| {
                    let expected =
                        if task == 2 { MemoryExpected::Anything } else { MemoryExpected::Absent };
                    fixture.note(&ada(), id, &format!("word t{task} w{i}")).expected(expected)
                });
                match task {
                    0 => {
                        let forget = MemoryForget::ids(ada(), ["a", "b"]);
                        let _forgotten = fixture.forget_memories(&forget).await?;
                    }
                    1 => {
                        let read =
                            fixture.memories()?.memories(&ada(), &["a".into(), "b".into()]).await?;
                        same("whether both are there or none", &(read.len() % 2), &0)?;
                    }
                    _ => drop(fixture.write_memories(&writes).await?),
                }
            }
            Ok(())
        }
    })
    .await?;
    let mut memories = memories;
    // Both records exist or neither does. After forgetting, neither comes back.
    let read = memories.fixture.memories()?.memories(&ada(), &["a".into(), "b".into()]).await?;
    let forgotten = memories.fixture.forget_memories(&MemoryForget::ids(ada(), ["a", "b"])).await?;
    same("removed, remaining", &(forgotten.removed, forgotten.remaining), &(read.len() as u64, 0))?;
    let writes = ["a", "b"].map(|id| memories.fixture.note(&ada(), id, "word"));
    let expected = MemoryOutcome::Applied(vec![MemoryWritten::Forgotten; 2]);
    same(
        "a write of what was forgotten",
        &memories.fixture.write_memories(&writes).await?,
        &expected,
    )?;
    memories.notes(&[(&ada(), "c", "word")]).await?;
    memories.finds("a race", &MemoryFind::new(vec![ada()], vec!["word".into()], 10)).await?;
    same("what check() found", &memories.fixture.findings().await?, &Vec::new())
}

async fn a_lost_reply_is_found_out_by_the_same_write(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let plan = FaultPlan::default()
        .with(Operation::WriteMemories, 0, Fault::AfterApply)
        .with(Operation::WriteMemories, 2, Fault::BeforeApply)
        .with(Operation::WriteMemories, 4, Fault::AfterApply)
        .with(Operation::ForgetMemories, 0, Fault::AfterApply);
    let plain = memories.fixture.clone();
    let faulty = plain.through(Arc::new(FaultStore::new(Arc::clone(&plain.store), plan)));
    use MemoryWritten::{Unchanged, Written};
    for (label, arrived, expected, answer) in [
        ("a lost reply to an absent write", true, MemoryExpected::Absent, Unchanged(1)),
        ("a write that did not arrive", false, MemoryExpected::Version(1), Written(2)),
        ("a lost reply to a version", true, MemoryExpected::Version(2), Written(3)),
    ] {
        let writes =
            ids(0..3).into_iter().map(|id| plain.note(&ada(), &id, label).expected(expected));
        let writes: Vec<MemoryWrite> = writes.collect();
        let lost = faulty.memories()?.write_memories(&writes).await;
        ensure(lost.is_err(), || format!("{label}: nothing went wrong"))?;
        if arrived {
            let _judged = memories.model.write(&writes);
        }
        memories.matches_model(label).await?;
        let again = faulty.memories()?.write_memories(&writes).await?;
        same(
            format!("the same write after {label}"),
            &again,
            &MemoryOutcome::Applied(vec![answer; 3]),
        )?;
        let _judged = memories.model.write(&writes);
        memories.matches_model(&format!("the same write after {label}")).await?;
    }
    let forget = MemoryForget::ids(ada(), ["m1"]);
    ensure(faulty.memories()?.forget_memories(&forget).await.is_err(), || {
        "nothing went wrong".into()
    })?;
    memories.model.forget(&forget);
    memories.matches_model("a lost reply to forgetting").await?;
    let again = faulty.memories()?.forget_memories(&forget).await?;
    same("forgetting again: removed, remaining", &(again.removed, again.remaining), &(0, 0))
}

/// Waits until nothing changes any more, since a dropped write may still complete in the
/// background.
async fn settled(fixture: &ChatFixture, scope: &MemoryScope) -> Check<Vec<(String, u64)>> {
    let look = async || {
        let read =
            fixture.memories()?.memories(scope, &["a".into(), "b".into(), "c".into()]).await?;
        Check::Ok(
            read.into_iter().map(|stored| (stored.record.text, stored.version)).collect::<Vec<_>>(),
        )
    };
    let mut before = look().await?;
    for _ in 0..50 {
        tokio::task::yield_now().await;
        let now = look().await?;
        if now == before {
            return Ok(now);
        }
        before = now;
    }
    fail("a dropped call: what is there still changes after 50 looks")
}

async fn a_dropped_write_is_whole_or_absent(case: &CaseContext) -> Check {
    let fixture = case.memory_fixture().await?.fixture;
    for polls in 0..MOST_POLLS {
        let scope = MemoryScope::new(format!("ada-{polls}"));
        let mut memories = MemoryFixture::new(&fixture);
        memories.notes(&[(&scope, "a", "word before")]).await?;
        let write = |id: &str, version| {
            fixture.note(&scope, id, "word after").expected(MemoryExpected::Version(version))
        };
        let writes = [write("a", 1), write("b", 0), write("c", 0)];
        let ended = polled(fixture.memories()?.write_memories(&writes), polls).await.transpose()?;
        let seen = settled(&fixture, &scope).await?;
        let after = |version| ("word after".to_owned(), version);
        let whole =
            seen == [after(2), after(1), after(1)] || seen == [("word before".to_owned(), 1)];
        ensure(whole, || {
            format!("a write dropped after {polls} polls is there in part: {seen:?}")
        })?;
        let did = format!("a write that was dropped after {polls} polls, repeated");
        let _outcome = memories.write(&did, &writes).await?;
        memories.matches_model("a dropped write").await?;
        if ended.is_some() {
            break;
        }
    }
    same("what check() found", &fixture.findings().await?, &Vec::new())
}

async fn a_dropped_forgetting_is_whole_or_absent(case: &CaseContext) -> Check {
    let fixture = case.memory_fixture().await?.fixture;
    for polls in 0..MOST_POLLS {
        let scope = MemoryScope::new(format!("ada-{polls}"));
        let mut memories = MemoryFixture::new(&fixture);
        memories
            .notes(&[(&scope, "a", "word"), (&scope, "b", "word"), (&scope, "c", "word")])
            .await?;
        let forget = MemoryForget::ids(scope.clone(), ["a", "b", "c"]);
        let ended =
            polled(fixture.memories()?.forget_memories(&forget), polls).await.transpose()?;
        let seen = settled(&fixture, &scope).await?.len();
        ensure(seen == 0 || seen == 3, || {
            format!("forgetting dropped after {polls} polls left {seen} of 3")
        })?;
        let again = fixture.forget_memories(&forget).await?;
        same("forgetting again: remaining", &again.remaining, &0)?;
        memories.model.forget(&forget);
        let outcome = memories.write("absent", &[fixture.note(&scope, "a", "word")]).await?;
        same(
            "a write of what was forgotten",
            &outcome,
            &MemoryOutcome::Applied(vec![MemoryWritten::Forgotten]),
        )?;
        memories.matches_model("forgetting that was dropped").await?;
        if ended.is_some() {
            break;
        }
    }
    same("what check() found", &fixture.findings().await?, &Vec::new())
}
