//! Reading chains: whole ones, ends of long ones, and one that forks.

use std::hint::black_box;

use context_runtime::{ChatRef, store::Window};

use crate::bench::Bench;
use crate::board::Row;
use crate::file_store::{FileStore, chat};
use crate::floor::Floor;

/// The number of messages in the measured windows.
const KEPT: usize = 100;

/// Loads whole chains. The floor scans three text columns of the same messages.
pub(crate) async fn whole(bench: &mut Bench) {
    let ours = FileStore::create(&bench.path("load.ours"), false).await;
    let floor = Floor::create(&bench.path("load.floor"), false);
    for n in bench.sizes(&[10, 100, 1_000, 10_000, 100_000, 1_000_000]) {
        let target = match n {
            100 => Some(0.4),
            1_000 | 10_000 => Some(0.25),
            _ => None,
        };
        let chat = chat(n);
        ours.fill_by_turns(&chat, n).await;
        floor.fill_segment(n, n);
        let _folded = (ours.bytes(), floor.bytes());
        let repeat = (20_000 / n).clamp(1, 100);
        let mut row = Row::new("cold load", n, "us", target).skip_first(1);
        for _ in 0..bench.rounds_of(n) + 1 {
            row.ours(repeat, async {
                for _ in 0..repeat {
                    assert_eq!(black_box(ours.load(&chat, "main", &Window::Whole).await).len(), n);
                }
            })
            .await;
            row.floor(repeat, async {
                for _ in 0..repeat {
                    assert_eq!(black_box(floor.scan(n)).len(), n);
                }
            })
            .await;
        }
        bench.board.add(row);
    }
}

/// Loads whole chains and reads every message. The floor scans three text columns of the same
/// messages.
pub(crate) async fn read(bench: &mut Bench) {
    let ours = FileStore::create(&bench.path("read.ours"), false).await;
    let floor = Floor::create(&bench.path("read.floor"), false);
    for n in bench.sizes(&[1_000, 10_000]) {
        let chat = chat(n);
        ours.fill_by_turns(&chat, n).await;
        floor.fill_segment(n, n);
        let _folded = (ours.bytes(), floor.bytes());
        let repeat = 20_000 / n;
        let mut row =
            Row::new("load and make every message an object", n, "us", Some(4.0)).skip_first(1);
        for _ in 0..bench.rounds + 1 {
            row.ours(repeat, async {
                for _ in 0..repeat {
                    let chain = ours.load(&chat, "main", &Window::Whole).await;
                    assert_eq!(black_box(chain.messages()).len(), n);
                }
            })
            .await;
            row.floor(repeat, async {
                for _ in 0..repeat {
                    assert_eq!(black_box(floor.scan(n)).len(), n);
                }
            })
            .await;
        }
        bench.board.add(row);
    }
}

/// Loads the end of the longest chat. The floor is the same load of a chat of a thousand.
pub(crate) async fn window(bench: &mut Bench) {
    let ours = FileStore::create(&bench.path("window.ours"), false).await;
    let (long, short) = (bench.max, 1_000);
    for n in [long, short] {
        ours.fill_with_boundary(&chat(n), n, KEPT).await;
    }
    ours.checkpoint();
    let weight =
        |chain: &context_runtime::store::Chain| chain.iter().map(|node| node.weight()).sum::<u64>();
    let end = ours.load(&chat(short), "main", &Window::Last(KEPT)).await;
    let windows = [
        ("load to the last boundary, against 1,000", Window::Boundary, KEPT + 1),
        ("load the last 100, against 1,000", Window::Last(KEPT), KEPT),
        ("load by tokens, against 1,000", Window::Tokens(weight(&end)), KEPT),
    ];
    for (case, window, expected) in windows {
        let mut row = Row::new(case, long, "us", Some(1.5)).skip_first(1);
        for _ in 0..bench.rounds + 1 {
            row.ours(100, load_often(&ours, chat(long), &window, expected)).await;
            row.floor(100, load_often(&ours, chat(short), &window, expected)).await;
        }
        bench.board.add(row);
    }
}

async fn load_often(ours: &FileStore, chat: ChatRef, window: &Window, expected: usize) {
    for _ in 0..100 {
        let loaded = black_box(ours.load(&chat, "main", window).await).len();
        // Messages differ in size.
        assert!(loaded.abs_diff(expected) <= 2, "{loaded} messages for {window:?}");
    }
}

/// Loads a chain that forks from another one half-way. Its floor is the same chain without a fork.
pub(crate) async fn fork(bench: &mut Bench) {
    let n = 10_000;
    let (ours, chat) = (FileStore::create(&bench.path("fork.ours"), false).await, chat("chat"));
    ours.fill_by_turns(&chat, n).await;
    ours.fork_and_fill(&chat, n / 2, n).await;
    ours.checkpoint();
    let mut row = Row::new("load a chain that forks half-way", n, "us", Some(1.1)).skip_first(1);
    for _ in 0..bench.rounds + 1 {
        for branch in ["main-v2", "main"] {
            let work = async {
                for _ in 0..2 {
                    assert_eq!(black_box(ours.load(&chat, branch, &Window::Whole).await).len(), n);
                }
            };
            if branch == "main" { row.floor(2, work).await } else { row.ours(2, work).await }
        }
    }
    bench.board.add(row);
}
