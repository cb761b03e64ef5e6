//! Searching for three words: in one chat, and as one user among many.

use std::hint::black_box;

use context_runtime::{ChatRef, store::SearchScope};

use crate::bench::Bench;
use crate::board::Row;
use crate::data;
use crate::file_store::{FileStore, chat};
use crate::floor::Floor;

const REPEAT: usize = 20;

fn words() -> [String; 3] {
    [20, 60, 150].map(data::word)
}

/// Searches one chat of `n` messages. The floor queries an FTS5 table of the same texts for the
/// best twenty.
pub(crate) async fn one_chat(bench: &mut Bench) {
    let words = words();
    for n in bench.sizes(&[1_000, 10_000, 100_000]) {
        let ours = FileStore::create(&bench.path("search.ours"), true).await;
        let floor = Floor::create(&bench.path("search.floor"), true);
        let chat = chat(n);
        ours.fill(&chat, n).await;
        floor.fill_linked(n);
        let _folded = (ours.bytes(), floor.bytes());
        let mut row = Row::new("search three words in a chat", n, "us", None).skip_first(1);
        for _ in 0..bench.rounds + 1 {
            row.ours(REPEAT, async {
                for _ in 0..REPEAT {
                    let scope = SearchScope::Chat(chat.chat.clone());
                    black_box(ours.search(scope, &words.join(" ")).await);
                }
            })
            .await;
            row.floor(REPEAT, async {
                for _ in 0..REPEAT {
                    black_box(floor.search(&words));
                }
            })
            .await;
        }
        bench.board.add(row);
        drop((ours, floor));
        bench.remove("search.ours");
        bench.remove("search.floor");
    }
}

/// Searches as a user with 10,000 messages in a store where others have many. The floor is the same
/// search without the others.
pub(crate) async fn among_others(bench: &mut Bench) {
    const OWN: usize = 10_000;
    let others = bench.max;
    let alone = FileStore::create(&bench.path("alone.ours"), true).await;
    let among = FileStore::create(&bench.path("among.ours"), true).await;
    for first in (0..others).step_by(OWN) {
        let other = ChatRef::new(format!("other-{first}"), "chat");
        among.fill(&other, OWN.min(others - first)).await;
    }
    for ours in [&alone, &among] {
        ours.fill(&chat("chat"), OWN).await;
        ours.checkpoint();
    }
    // The most common word is in most messages of every user.
    let texts = [("three words", words().join(" ")), ("a common word", data::word(0))];
    for (name, text) in texts {
        let case = match name {
            "three words" => "search three words among others' messages",
            _ => "search a common word among others'",
        };
        let mut row = Row::new(case, others, "us", Some(1.5)).skip_first(1);
        for _ in 0..bench.rounds + 1 {
            row.ours(REPEAT, search_often(&among, &text)).await;
            row.floor(REPEAT, search_often(&alone, &text)).await;
        }
        bench.board.add(row);
    }
}

async fn search_often(ours: &FileStore, text: &str) {
    for _ in 0..REPEAT {
        assert!(black_box(ours.search(SearchScope::User, text).await) > 0);
    }
}
