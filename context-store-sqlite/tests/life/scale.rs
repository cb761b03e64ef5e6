//! Large chats and many of them. Long, so only run when asked for:
//! ```sh
//! cargo test --release -p context-layer-store-sqlite --test life scale -- --ignored --nocapture \
//!     --test-threads 1
//! ```

#![allow(clippy::print_stdout, reason = "the measurements are the purpose of the test")]

use std::time::Instant;

use context_core::store::{
    ChainEnd, ChatQuery, Commit, NewChat, RecordOutcome, RoundCommit, RoundPrune, RoundQuery,
    Target, Window,
};
use context_core::trajectory::{
    AgentRef, Changes, MessageLink, NewNode, NewQuery, NodeBody, Round,
};
use context_core::{BranchName, CancelSignal, ChatRef, Store, Timestamp};

use crate::store_fixture::{StoreFixture, apply, many, says};

/// Prints how long something took. No test depends on the time.
async fn timed<T>(label: &str, work: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let done = work.await;
    println!("{label}: {:.2?}", begun.elapsed());
    done
}

/// Creates a chat of this many messages of 400 bytes, in commits of 1,000 messages.
async fn large(fixture: &StoreFixture, id: &str, n: usize) -> ChatRef {
    let chat = fixture.create("ada", id).await;
    let text = "x".repeat(400);
    let mut expected = String::new();
    for first in (0..n).step_by(1000) {
        let nodes: Vec<_> =
            (first..n.min(first + 1000)).map(|i| says(format!("m{i}"), &text)).collect();
        let next = nodes.last().unwrap().id.to_string();
        fixture.extend(&chat, "main", &expected, nodes).await;
        expected = next;
    }
    chat
}

#[tokio::test]
#[ignore = "takes a minute; cargo xtask ci --long runs it"]
async fn a_million_messages_are_read_deleted_and_erased() {
    const N: usize = 1_000_000;
    let fixture = StoreFixture::new().await;
    let chat = timed("write 1,000,000", large(&fixture, "large", N)).await;
    let small = large(&fixture, "small", 1000).await;
    let end = ChainEnd::Branch(BranchName::main());
    let chain = timed("load", fixture.history().chain(&chat, &end, &Window::Whole)).await;
    assert_eq!(chain.unwrap().len(), N);
    let size = timed("size", fixture.history().chat_size(&chat)).await;
    println!("{:?}", size.unwrap());
    let deleted =
        timed("delete the small chat beside it", fixture.history().delete_chat(&small, None)).await;
    assert!(deleted.unwrap());
    fixture.fork(&chat, "other", "", many("o", 1)).await;
    fixture
        .history()
        .activate_branch(&chat, &"other".into(), crate::store_fixture::T)
        .await
        .unwrap();
    let head = crate::store_fixture::some(&format!("m{}", N - 1));
    fixture
        .history()
        .set_checkpoint(&chat, &"point".into(), &"m10".into(), crate::store_fixture::T)
        .await
        .unwrap();
    let main = BranchName::main();
    let delete =
        fixture.history().delete_branch(&chat, &main, head.as_ref(), crate::store_fixture::T);
    let deleted = timed("delete its branch but for 11 messages", delete).await;
    println!("{:?}", deleted.unwrap());
    let vacuumed = timed("vacuum", fixture.maintenance().vacuum()).await;
    println!("{:?}", vacuumed.unwrap());

    let chat = large(&fixture, "again", N).await;
    assert!(timed("delete the chat", fixture.history().delete_chat(&chat, None)).await.unwrap());
    large(&fixture, "more", N).await;
    let erased = timed(
        "erase the user",
        fixture.maintenance().erase_user(&"ada".into(), &CancelSignal::never()),
    )
    .await;
    assert_eq!(erased.unwrap().remaining, 0);
}

/// Creates chats within one minute. Each gets `appends` commits.
async fn chats(fixture: &StoreFixture, n: usize, appends: usize) {
    let at = |i: usize| Timestamp::from_micros(60_000_000_000 + (i * 59_000_000 / n) as i64);
    for i in 0..n {
        let chat = ChatRef::new("ada", format!("chat {i}"));
        let _ = fixture.history().create_chat(NewChat::new(chat.clone(), at(i))).await.unwrap();
        let mut expected = None;
        for k in 0..appends {
            let nodes = vec![says(format!("m{k}"), "x")];
            let next = Some(nodes[0].id.clone());
            let target = Target::Extend { branch: BranchName::main(), expected };
            let commit = Commit::new(
                chat.clone(),
                target,
                Timestamp::from_micros(at(i).as_micros() + k as i64),
            );
            apply(fixture.history(), Commit { nodes, ..commit }).await;
            expected = next;
        }
    }
}

async fn list(fixture: &StoreFixture, n: usize, limit: usize) {
    let mut query = ChatQuery { limit, ..ChatQuery::new("ada") };
    let mut seen = 0;
    loop {
        let page = fixture.history().list_chats(&query).await.unwrap();
        seen += page.items.len();
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    assert_eq!(seen, n);
}

#[tokio::test]
#[ignore = "takes a minute; cargo xtask ci --long runs it"]
async fn listing_many_chats_of_a_minute_sees_each_once() {
    for (n, appends) in [(100_000, 0), (100_000, 1), (10_000, 3)] {
        let fixture = StoreFixture::new().await;
        chats(&fixture, n, appends).await;
        for limit in [1000, 100] {
            timed(
                &format!("list {n} chats with {appends} appends, pages of {limit}"),
                list(&fixture, n, limit),
            )
            .await;
        }
    }
}

/// Adds this many nodes in commits of the given size. Every third node is changed once.
async fn recorded(fixture: &StoreFixture, round: &mut Round, nodes: u32, in_a_commit: u32) {
    let trajectories = fixture.store.trajectories().unwrap();
    let mut changes = Vec::new();
    for i in 0..nodes {
        let at = Timestamp::from_micros(i64::from(round.head().next));
        if round.is_empty() {
            changes.extend(round.ask(NewQuery::new("why?"), at).unwrap().1);
        } else {
            let last = round.endpoints().last().unwrap();
            let body = match i % 2 {
                0 => NodeBody::state("It is so, because of what was found. ".repeat(5)),
                _ => NodeBody::action("search", serde_json::json!({ "text": "rain", "limit": 20 })),
            };
            let new = NewNode::new(body, [last])
                .author("planner")
                .message(MessageLink::new("chat", format!("m{i}")));
            let (id, added) = round.add(new, at).unwrap();
            changes.extend(added);
            if i % 3 == 0 {
                changes.extend(
                    round.change(id, &Changes::new().describe("A step."), None, at).unwrap(),
                );
            }
        }
        if (i + 1) % in_a_commit == 0 || i + 1 == nodes {
            round.committed();
            let key = format!("k{}", round.revision());
            let commit = RoundCommit::new(key, std::mem::take(&mut changes), round.head());
            assert_eq!(trajectories.record_round(&commit).await.unwrap(), RecordOutcome::Applied);
        }
    }
}

#[tokio::test]
#[ignore = "takes a minute; cargo xtask ci --long runs it"]
async fn rounds_are_written_at_the_cost_of_what_is_written_and_read_whole() {
    let fixture = StoreFixture::new().await;
    let agent = AgentRef::main("ada", "monday");
    for number in 0..1000 {
        recorded(&fixture, &mut Round::new(agent.round(number), Timestamp::default()), 40, 40)
            .await;
    }
    let trajectories = fixture.store.trajectories().unwrap();
    for label in ["load 50 rounds of 40 nodes", "and again"] {
        let loaded = timed(label, trajectories.load_rounds(&agent, 900..=949)).await.unwrap();
        assert_eq!(loaded.len(), 50);
    }
    let one = timed("load one", trajectories.load_rounds(&agent, 7..=7)).await.unwrap();
    assert_eq!(one[0].nodes.len(), 40);
    let query = RoundQuery::of_agent(&agent).limit(100);
    assert_eq!(
        timed("the newest 100 heads", trajectories.rounds(&query)).await.unwrap().items.len(),
        100
    );
    let mut round = Round::new(AgentRef::main("ada", "long").round(0), Timestamp::default());
    for size in [1_000, 10_000, 100_000] {
        let missing = size - round.head().nodes - 100;
        recorded(&fixture, &mut round, missing, 1000).await;
        timed(
            &format!("100 nodes, one by one, to make it {size}"),
            recorded(&fixture, &mut round, 100, 1),
        )
        .await;
    }
    timed("check", async { assert_eq!(fixture.problems().await, [""; 0]) }).await;
    let prune = RoundPrune::of_user("ada").session("long");
    assert_eq!(
        timed("remove 100,000 nodes", trajectories.prune_rounds(&prune)).await.unwrap().nodes,
        100_000
    );
    let never = CancelSignal::never();
    let erased =
        timed("erase 1,000 rounds", fixture.maintenance().erase_user(&"ada".into(), &never))
            .await
            .unwrap();
    assert_eq!((erased.rounds, erased.remaining), (1000, 0));
}
