//! The order of a listing, however the chats were written to.

use context_core::store::{ChatQuery, Commit, NewChat, Target};
use context_core::{BranchName, ChatRef, Timestamp};

use crate::store_fixture::{StoreFixture, apply, says};

#[tokio::test]
async fn chats_are_in_the_order_of_their_newest_write_however_it_came() {
    const CHATS: usize = 60;
    let fixture = StoreFixture::new().await;
    let chat = |i: usize| ChatRef::new("ada", format!("{i}"));
    let mut updated = vec![0; CHATS];
    // A fixed pseudo-random sequence with few different times, so that many are equal.
    let mut seed: u64 = 7;
    let mut next = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    for (i, updated) in updated.iter_mut().enumerate() {
        *updated = next(4) as i64 * 25_000_000;
        let new = NewChat::new(chat(i), Timestamp::from_micros(*updated));
        let _ = fixture.history().create_chat(new).await.unwrap();
    }
    let mut heads = vec![None; CHATS];
    for step in 0..400 {
        let i = next(CHATS as u64) as usize;
        let at = next(12) as i64 * 11_000_000;
        let nodes = vec![says(format!("m{step}"), "x")];
        let head = Some(nodes[0].id.clone());
        let target = Target::Extend { branch: BranchName::main(), expected: heads[i].take() };
        apply(
            fixture.history(),
            Commit { nodes, ..Commit::new(chat(i), target, Timestamp::from_micros(at)) },
        )
        .await;
        heads[i] = head;
        updated[i] = updated[i].max(at);
        if step % 50 != 49 {
            continue;
        }
        let mut expected: Vec<usize> = (0..CHATS).collect();
        expected.sort_by_key(|&i| std::cmp::Reverse((updated[i], i)));
        let expected: Vec<_> = expected.into_iter().map(|i| (chat(i), updated[i])).collect();
        let mut listed = Vec::new();
        let mut query = ChatQuery { limit: 7, ..ChatQuery::new("ada") };
        loop {
            let page = fixture.history().list_chats(&query).await.unwrap();
            listed.extend(
                page.items
                    .into_iter()
                    .map(|item| (item.chat.chat, item.chat.updated_at.as_micros())),
            );
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        assert_eq!(listed, expected, "after {step}");
    }
    assert!(fixture.number("SELECT count(*) FROM chat WHERE moved = 1").await > 0);
    assert_eq!(fixture.problems().await, [""; 0]);
}
