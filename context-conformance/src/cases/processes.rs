//! Cases about several processes on one store: nothing is lost, and the store is created once.

use context_core::{CancelSignal, ErrorKind};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, ids};
use crate::child::{self, Task, Work};
use crate::expect::same;
use crate::verdict::Check;
use crate::visible_chat::summary;
use crate::worker::Worker;

cases!("processes":
    writers_of_several_processes_lose_nothing if SecondProcess,
    a_store_is_created_by_several_at_once if SecondProcess,
    one_process_sees_what_another_wrote if SecondProcess,
);

/// The number of child processes.
const CHILDREN: usize = 3;

/// Starts child processes for these tasks, and signals them to begin once all are running.
fn started(location: &str, works: Vec<Work>) -> Check<Vec<Worker>> {
    let start = |work| Worker::start(&Task { location: location.to_owned(), work });
    let mut workers = works.into_iter().map(start).collect::<Check<Vec<_>>>()?;
    workers.iter_mut().try_for_each(Worker::go)?;
    Ok(workers)
}

async fn writers_of_several_processes_lose_nothing(case: &CaseContext) -> Check {
    const MESSAGES: usize = 25;
    let fixture = case.fixture_in("compete").await?;
    let work = |i| Work::Compete { name: format!("w{i}"), messages: MESSAGES };
    let workers = started(&case.location("compete")?, (0..CHILDREN).map(work).collect())?;
    let mut head = String::new();
    for i in 0..MESSAGES {
        let id = format!("own-{i}");
        loop {
            use context_core::store::CommitOutcome::{Applied, Conflict};
            match child::patiently(&fixture, fixture.extend(&head, [id.as_str()])).await? {
                Applied(_) => break head.clone_from(&id),
                Conflict { actual } => head = actual.map(|id| id.to_string()).unwrap_or_default(),
                other => {
                    return crate::expect::fail(format!(
                        "commit of {id}, again after conflicts: saw {other:?}"
                    ));
                }
            }
        }
    }
    for worker in workers {
        same("what a child was told", &worker.ended().await?.len(), &MESSAGES)?;
    }
    let chain = ids(&fixture.whole("main").await?);
    for name in (0..CHILDREN).map(|i| format!("w{i}")).chain(["own".to_owned()]) {
        let own: Vec<_> =
            chain.iter().filter(|id| id.starts_with(&format!("{name}-"))).cloned().collect();
        let expected: Vec<_> = (0..MESSAGES).map(|i| format!("{name}-{i}")).collect();
        same(format!("the messages of {name} on main"), &own, &expected)?;
    }
    same("how many messages main has", &chain.len(), &((CHILDREN + 1) * MESSAGES))
}

async fn a_store_is_created_by_several_at_once(case: &CaseContext) -> Check {
    for round in 0..8 {
        let location = case.location(&format!("created-{round}"))?;
        let work = |i| Work::Create { name: format!("chat-{i}"), messages: 3 };
        let workers = started(&location, (0..CHILDREN).map(work).collect())?;
        // This process opens the store concurrently, too.
        let fixture = ChatFixture::new(child::open(case.subject(), &location).await?, "ada", "own");
        for worker in workers {
            worker.ended().await?;
        }
        for i in 0..CHILDREN {
            let there = fixture.other("ada", &format!("chat-{i}"));
            there.expect_chain("main", &["m0", "m1", "m2"]).await?;
            let listed = summary(&there).await?.map(|item| item.messages);
            same(format!("what the listing says of chat-{i}"), &listed, &Some(3))?;
        }
        if let Some(maintenance) = fixture.store.maintenance() {
            let report = maintenance.check(&CancelSignal::never()).await?;
            same("what check() found", &report.findings, &Vec::new())?;
        }
    }
    Ok(())
}

async fn one_process_sees_what_another_wrote(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("sees").await?;
    let location = case.location("sees")?;
    for round in 0..5 {
        let name = format!("chat-{round}");
        let there = fixture.other("ada", &name);
        let before = there.history().chat(&there.chat).await?;
        same("a chat that nobody created", &before, &None)?;
        for worker in started(&location, vec![Work::Create { name, messages: 2 }])? {
            worker.ended().await?;
        }
        there.expect_chain("main", &["m0", "m1"]).await?;
        there.applied(there.extend("m1", ["back"])).await?;
        let stale = there.history().commit(there.extend("m0", ["late"])).await;
        let conflict = stale.map_err(|error| error.kind());
        let expected = context_core::store::CommitOutcome::Conflict { actual: Some("back".into()) };
        same("a stale commit", &conflict, &Ok::<_, ErrorKind>(expected))?;
    }
    Ok(())
}
