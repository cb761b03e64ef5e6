//! A turn: resolve, then save a question and an answer. Its floor is the same turn of a short chat
//! in the same backend.

use context_runtime::{ContextEngine, assistant, user};

use crate::backend::Backend;
use crate::board::Row;
use crate::library_store::chat;
use crate::{Bench, data};

const TURNS: usize = 20;

/// Measures a turn of an engine that has read its chat.
pub(crate) async fn warm(bench: &mut Bench, backend: &Backend) {
    let case = match backend.name {
        "sqlite" => "sqlite: warm turn, against one at 100",
        "postgres" => "postgres: warm turn, against one at 100",
        _ => "redis: warm turn, against one at 100",
    };
    if !bench.options.has(case) {
        return;
    }
    let ours = backend.ours().await;
    let mut engines = Vec::new();
    for n in [10_000, 100] {
        let chat = chat(n);
        ours.fill(&chat, n).await;
        let mut engine = ours.engine(&chat).open().await.unwrap();
        turn(&mut engine, 0).await;
        engines.push(engine);
    }
    let mut row = Row::new(case, 10_000, "us", Some(1.1)).skip_first(1);
    for _ in 0..bench.options.rounds + 1 {
        row.ours(TURNS, turns(&mut engines[0])).await;
        row.floor(TURNS, turns(&mut engines[1])).await;
    }
    bench.board.add(row);
}

async fn turns(engine: &mut ContextEngine) {
    for i in 0..TURNS {
        turn(engine, i).await;
    }
}

/// Runs a turn like an agent loop.
async fn turn(engine: &mut ContextEngine, i: usize) {
    engine.set([user(data::text(2 * i))]);
    std::hint::black_box(engine.resolve().await.unwrap());
    engine.set([assistant(data::text(2 * i + 1))]);
    let _saved = engine.save().await.unwrap();
}
