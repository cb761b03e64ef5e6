//! Cases about concurrent tasks: nothing is lost, nothing is written twice, exactly one of many
//! wins.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use context_core::store::CommitOutcome;
use context_core::{ErrorKind, Retry};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, ids};
use crate::expect::{ensure, fail, same};
use crate::verdict::{Check, Stop};

cases!("concurrency":
    one_of_sixteen_racers_is_applied,
    retrying_writers_lose_nothing,
    writers_on_their_own_branches,
    racing_forks_get_different_names,
    one_of_many_replays_is_applied,
    counting_loses_nothing,
    readers_see_whole_commits,
    racers_through_two_handles if SecondHandle,
    retrying_writers_through_two_handles if SecondHandle,
    two_handles_see_each_other if SecondHandle,
);

const RACERS: usize = 16;

/// Runs `count` tasks that start at the same time, and collects their results.
pub(super) async fn race<T, F>(count: usize, task: impl Fn(usize) -> F) -> Check<Vec<T>>
where
    T: Send + 'static,
    F: Future<Output = Check<T>> + Send + 'static,
{
    let barrier = Arc::new(Barrier::new(count));
    let mut tasks = JoinSet::new();
    for i in 0..count {
        let (barrier, task) = (Arc::clone(&barrier), task(i));
        tasks.spawn(async move {
            barrier.wait().await;
            task.await
        });
    }
    let mut results = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        results.push(joined.map_err(|error| Stop::Fail(format!("a racer: {error}")))??);
    }
    Ok(results)
}

/// Runs `write` beside tasks that repeat `read` until the writing has ended, and once after it. So
/// they read beside the writer however slowly they start.
pub(super) async fn read_beside<F>(
    readers: usize,
    write: impl Future<Output = Check> + Send + 'static,
    read: impl Fn() -> F + Clone + Send + 'static,
) -> Check
where
    F: Future<Output = Check> + Send,
{
    let has_ended = Arc::new(AtomicBool::new(false));
    let write = Mutex::new(Some(write));
    race(readers + 1, |_| {
        // The first task is the writer.
        let write = write.lock().ok().and_then(|mut write| write.take());
        let (has_ended, read) = (Arc::clone(&has_ended), read.clone());
        async move {
            if let Some(write) = write {
                let written = write.await;
                has_ended.store(true, Ordering::SeqCst);
                return written;
            }
            loop {
                let is_last = has_ended.load(Ordering::SeqCst);
                read().await?;
                if is_last {
                    return Ok(());
                }
                tokio::task::yield_now().await;
            }
        }
    })
    .await
    .map(drop)
}

/// Commits, again while the store is too busy.
pub(super) async fn commit(
    fixture: &ChatFixture,
    commit: context_core::store::Commit,
) -> Check<CommitOutcome> {
    for _ in 0..100 {
        match fixture.history().commit(commit.clone()).await {
            Err(error)
                if error.kind() == ErrorKind::Unavailable && error.retry() == Retry::Safe =>
            {
                tokio::task::yield_now().await;
            }
            result => return Ok(result?),
        }
    }
    fail("a commit: still unavailable after 100 tries")
}

async fn race_for_the_head(fixtures: &[ChatFixture]) -> Check {
    let mut head = String::new();
    for round in 0..8 {
        let outcomes = race(RACERS, |i| {
            let (fixture, id) = (fixtures[i % fixtures.len()].clone(), format!("r{round}-{i}"));
            let attempt = fixture.extend(&head, [id.as_str()]);
            async move { Ok((commit(&fixture, attempt).await?, id)) }
        })
        .await?;
        let (won, lost): (Vec<_>, Vec<_>) = outcomes
            .into_iter()
            .partition(|(outcome, _)| matches!(outcome, CommitOutcome::Applied(_)));
        same(format!("how many of {RACERS} racers were applied in round {round}"), &won.len(), &1)?;
        head.clone_from(&won[0].1);
        for (outcome, id) in lost {
            let expected = CommitOutcome::Conflict { actual: Some(head.as_str().into()) };
            same(format!("what racer {id} was told"), &outcome, &expected)?;
        }
        let chain = fixtures[0].whole("main").await?;
        same(
            "length and head",
            &(chain.len(), chain.head().map(ToString::to_string)),
            &(round + 1, Some(head.clone())),
        )?;
    }
    Ok(())
}

async fn one_of_sixteen_racers_is_applied(case: &CaseContext) -> Check {
    race_for_the_head(&[case.fixture().await?]).await
}

async fn racers_through_two_handles(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("two").await?;
    let second = fixture.through(case.second_handle("two").await?);
    race_for_the_head(&[fixture, second]).await
}

async fn retry_until_applied(fixtures: &[ChatFixture], writers: usize, each: usize) -> Check {
    race(writers, |w| {
        let fixture = fixtures[w % fixtures.len()].clone();
        async move {
            let mut head = String::new();
            for i in 0..each {
                let id = format!("w{w}-{i}");
                loop {
                    match commit(&fixture, fixture.extend(&head, [id.as_str()])).await? {
                        CommitOutcome::Applied(_) => break head.clone_from(&id),
                        CommitOutcome::Conflict { actual } => {
                            head = actual.map(|id| id.to_string()).unwrap_or_default();
                        }
                        other => {
                            return fail(format!(
                                "commit of {id}, retried after conflicts: saw {other:?}"
                            ));
                        }
                    }
                }
            }
            Ok(())
        }
    })
    .await?;
    let chain = ids(&fixtures[0].whole("main").await?);
    for w in 0..writers {
        let prefix = format!("w{w}-");
        let own: Vec<_> = chain.iter().filter(|id| id.starts_with(&prefix)).cloned().collect();
        let expected: Vec<_> = (0..each).map(|i| format!("w{w}-{i}")).collect();
        same(format!("the messages of writer {w} on main"), &own, &expected)?;
    }
    same("how many messages main has", &chain.len(), &(writers * each))
}

async fn retrying_writers_lose_nothing(case: &CaseContext) -> Check {
    retry_until_applied(&[case.fixture().await?], 8, 12).await
}

async fn retrying_writers_through_two_handles(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("two").await?;
    let second = fixture.through(case.second_handle("two").await?);
    retry_until_applied(&[fixture, second], 8, 12).await
}

async fn writers_on_their_own_branches(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["root"])).await?;
    for w in 0..RACERS {
        fixture.applied(fixture.fork(&format!("b{w}"), "root", [])).await?;
    }
    race(RACERS, |w| {
        let (fixture, branch) = (fixture.clone(), format!("b{w}"));
        async move {
            let mut head = "root".to_owned();
            for i in 0..10 {
                let id = format!("w{w}-{i}");
                let outcome =
                    commit(&fixture, fixture.extend_on(&branch, &head, [id.as_str()])).await?;
                crate::expect::applied("a commit to a branch of one's own", outcome)?;
                head = id;
            }
            Ok(())
        }
    })
    .await?;
    for w in 0..RACERS {
        let mut expected = vec!["root".to_owned()];
        expected.extend((0..10).map(|i| format!("w{w}-{i}")));
        same(format!("branch {w}"), &ids(&fixture.whole(&format!("b{w}")).await?), &expected)?;
    }
    Ok(())
}

async fn racing_forks_get_different_names(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let mut names = race(RACERS, |_| {
        let fixture = fixture.clone();
        async move {
            let committed = crate::expect::applied(
                "a fork",
                commit(&fixture, fixture.next_version("main", "a")).await?,
            )?;
            Ok(committed.branch)
        }
    })
    .await?;
    names.sort_by_key(|name| name.as_ref().map(|name| (name.as_str().len(), name.clone())));
    let expected: Vec<_> =
        (2..).take(RACERS).map(|k| Some(format!("main-v{k}").as_str().into())).collect();
    same("the names of 16 forks at once", &names, &expected)
}

/// Checks a fork with an exact name, which only its key makes safe to repeat.
async fn one_of_many_replays_is_applied(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let mut keyed = fixture.next_version("main", "a");
    keyed.key = Some("k".into());
    let outcomes = race(RACERS, |_| {
        let (fixture, keyed) = (fixture.clone(), keyed.clone());
        async move { commit(&fixture, keyed).await }
    })
    .await?;
    let count = |wanted: fn(&CommitOutcome) -> bool| {
        outcomes.iter().filter(|outcome| wanted(outcome)).count()
    };
    let seen = (
        count(|outcome| matches!(outcome, CommitOutcome::Applied(_))),
        count(|outcome| matches!(outcome, CommitOutcome::Replayed(_))),
    );
    same("16 times the same commit at once: applied, replayed", &seen, &(1, RACERS - 1))?;
    same("how many branches there are", &fixture.heads().await?.len(), &2)
}

async fn counting_loses_nothing(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    race(8, |_| {
        let fixture = fixture.clone();
        async move {
            for _ in 0..10 {
                let mut count = fixture.stay();
                let add = context_core::Metadata::default().with("n", 1);
                count.patch = Some(context_core::store::ChatPatch { add, ..Default::default() });
                crate::expect::applied("counting", commit(&fixture, count).await?)?;
            }
            Ok(())
        }
    })
    .await?;
    let chat = fixture.history().chat(&fixture.chat).await?;
    let n = chat.and_then(|chat| chat.metadata.get("n").map(ToString::to_string));
    same("80 times one", &n, &Some("80".to_owned()))
}

/// Checks that a reader always sees a multiple of three messages, since every commit has three, and
/// that the head is the last of them.
async fn readers_see_whole_commits(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let writer = fixture.clone();
    let write = async move {
        let mut head = String::new();
        for i in 0..25 {
            let new = [format!("{i}-a"), format!("{i}-b"), format!("{i}-c")];
            let texts = new.iter().map(String::as_str);
            let outcome = commit(&writer, writer.extend(&head, texts)).await?;
            crate::expect::applied("the writer's commit", outcome)?;
            head.clone_from(&new[2]);
        }
        Ok(())
    };
    let reader = fixture.clone();
    read_beside(4, write, move || {
        let reader = reader.clone();
        async move {
            let seen = reader.whole("main").await?.len();
            ensure(seen % 3 == 0, || {
                format!("reading beside a writer of three at a time: saw {seen} messages")
            })
        }
    })
    .await?;
    same("the length in the end", &fixture.whole("main").await?.len(), &75)
}

async fn two_handles_see_each_other(case: &CaseContext) -> Check {
    let one = case.fixture_in("two").await?;
    let two = one.through(case.second_handle("two").await?);
    let mut head = String::new();
    for i in 0..20 {
        let (writer, reader) = if i % 2 == 0 { (&one, &two) } else { (&two, &one) };
        let next = format!("m{i}");
        writer.applied(writer.extend(&head, [next.as_str()])).await?;
        let seen = reader.whole("main").await?;
        let expected = (i + 1, Some(next.clone()));
        same(
            "the other handle's view right after a commit",
            &(seen.len(), seen.head().map(ToString::to_string)),
            &expected,
        )?;
        head = next;
    }
    Ok(())
}
