//! Reading whole chains, cold: the handle has none of them in memory.

use std::hint::black_box;

use context_runtime::store::Window;

use crate::backend::Backend;
use crate::board::Row;
use crate::library_store::chat;
use crate::{Bench, data};

/// Loads whole chains. The floor reads three text columns of the same messages, or the same bytes
/// as list items.
pub(crate) async fn whole(bench: &mut Bench, backend: &Backend) {
    let (case, targets) = match backend.name {
        "sqlite" => ("sqlite: load", [Some(0.25), Some(0.25)]),
        "postgres" => ("postgres: load", [Some(0.4), None]),
        _ => ("redis: load", [Some(1.0), None]),
    };
    if !bench.options.has(case) {
        return;
    }
    for (n, target) in [1_000, 10_000].into_iter().zip(targets) {
        let (ours, floor, chat) = (backend.ours().await, backend.floor().await, chat("chat"));
        ours.fill_by_turns(&chat, n).await;
        for first in (0..n).step_by(1_000) {
            floor.append(&data::nodes(first..first + 1_000)).await;
        }
        let repeat = 20_000 / n;
        let mut row = Row::new(case, n, "us", target).skip_first(1);
        for _ in 0..bench.options.rounds + 1 {
            row.ours(repeat, async {
                for _ in 0..repeat {
                    assert_eq!(black_box(ours.load(&chat, "main", &Window::Whole).await).len(), n);
                }
            })
            .await;
            row.floor(repeat, async {
                for _ in 0..repeat {
                    assert_eq!(floor.scan().await, n);
                }
            })
            .await;
        }
        bench.board.add(row);
    }
}
