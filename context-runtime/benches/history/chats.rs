//! Whole chats: deleting and listing them.

use std::hint::black_box;

use context_runtime::ChatRef;

use crate::bench::Bench;
use crate::board::Row;
use crate::file_store::{FileStore, chat};
use crate::floor::Floor;

/// Deletes a chat. The floor deletes the same messages from one table.
pub(crate) async fn delete(bench: &mut Bench) {
    for n in bench.sizes(&[10, 1_000, 10_000, 100_000]) {
        let ours = FileStore::create(&bench.path("delete.ours"), false).await;
        let floor = Floor::create(&bench.path("delete.floor"), false);
        // A chat that stays.
        ours.fill(&chat("other"), 10_000).await;
        let repeat = (1_000 / n).clamp(1, 10);
        let mut row = Row::new("delete a chat", n, "us", None).skip_first(1);
        for _ in 0..bench.rounds_of(n) + 1 {
            let chats: Vec<ChatRef> = (0..repeat).map(chat).collect();
            for chat in &chats {
                ours.fill(chat, n).await;
            }
            ours.checkpoint();
            row.ours(repeat, async {
                for chat in &chats {
                    ours.delete(chat).await;
                }
            })
            .await;
            (0..repeat).for_each(|segment| floor.fill_segment(segment, n));
            let _folded = floor.bytes();
            row.floor(repeat, async { (0..repeat).for_each(|segment| floor.delete(segment)) })
                .await;
        }
        bench.board.add(row);
        drop((ours, floor));
        bench.remove("delete.ours");
        bench.remove("delete.floor");
    }
}

/// Lists all chats of a user by pages of a hundred, compared with the bare library, and with a user
/// who has a thousand.
pub(crate) async fn list(bench: &mut Bench) {
    const PAGE: usize = 100;
    let (many, few) = (bench.max.min(100_000), 1_000);
    let mut stores = Vec::new();
    for n in [many, few] {
        let ours = FileStore::create(&bench.path(&format!("list-{n}.ours")), false).await;
        for i in 0..n {
            ours.create_chat(&chat(i)).await;
        }
        ours.checkpoint();
        stores.push(ours);
    }
    let floor = Floor::create(&bench.path("list.floor"), false);
    floor.fill_chats(many);
    let _folded = floor.bytes();
    let mut bare = Row::new("list a chat, by pages of 100", many, "us", None).skip_first(1);
    let mut flat =
        Row::new("list a chat, against one of 1,000", many, "us", Some(1.5)).skip_first(1);
    for _ in 0..bench.rounds_of(many) + 1 {
        bare.ours(many, async { assert_eq!(walk(&stores[0], PAGE).await, many) }).await;
        bare.floor(many, async { assert_eq!(floor.list(PAGE), many) }).await;
        flat.ours_again(&bare);
        flat.floor(10 * few, async {
            for _ in 0..10 {
                assert_eq!(walk(&stores[1], PAGE).await, few);
            }
        })
        .await;
    }
    bench.board.add(bare);
    bench.board.add(flat);
}

async fn walk(ours: &FileStore, page: usize) -> usize {
    let (mut listed, mut after) = (0, None);
    loop {
        let (items, next) = black_box(ours.page(page, after).await);
        listed += items;
        after = next;
        if after.is_none() {
            return listed;
        }
    }
}
