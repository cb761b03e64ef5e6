//! Searching a chat for three words.

use std::hint::black_box;

use context_runtime::store::SearchScope;

use crate::backend::Backend;
use crate::board::Row;
use crate::library_store::chat;
use crate::{Bench, data};

const LENGTH: usize = 10_000;
const REPEAT: usize = 20;

/// Searches a chat. The floor queries the backend's own full-text index of the same messages for
/// the best twenty.
pub(crate) async fn in_a_chat(bench: &mut Bench, backend: &Backend) {
    let case = match backend.name {
        "sqlite" => "sqlite: search three words",
        "postgres" => "postgres: search three words",
        _ => "redis: search",
    };
    if !bench.options.has(case) {
        return;
    }
    let ours = backend.ours().await;
    if ours.store().search().is_none() {
        return bench.board.note(&format!("{case}: this store has none"));
    }
    let (floor, chat, words) = (backend.floor().await, chat("chat"), [20, 60, 150].map(data::word));
    ours.fill(&chat, LENGTH).await;
    for first in (0..LENGTH).step_by(1_000) {
        floor.append(&data::nodes(first..first + 1_000)).await;
    }
    let mut row = Row::new(case, LENGTH, "us", None).skip_first(1);
    for _ in 0..bench.options.rounds + 1 {
        row.ours(REPEAT, async {
            for _ in 0..REPEAT {
                let scope = SearchScope::Chat(chat.chat.clone());
                black_box(ours.search(scope, &words.join(" ")).await);
            }
        })
        .await;
        row.floor(REPEAT, async {
            for _ in 0..REPEAT {
                black_box(floor.search(&words).await);
            }
        })
        .await;
    }
    bench.board.add(row);
}
