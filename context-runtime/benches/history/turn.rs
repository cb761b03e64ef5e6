//! A turn: resolve, then save a question and an answer. Its floor is the same turn of a short chat.

use std::sync::Arc;

use context_runtime::compaction::HistoryRewrite;
use context_runtime::{ChainCache, ChatRef, ContextEngine, Message, Origin, assistant, user};

use crate::bench::Bench;
use crate::board::Row;
use crate::data;
use crate::file_store::{FileStore, chat};

const TURNS: usize = 20;
/// Turns before the measured ones. In the second, the connection that read the chat drops the pages
/// of all its messages, because the first one wrote.
const WARM_UP: usize = 2;

/// Measures a turn of an engine that has read its chat.
pub(crate) async fn warm(bench: &mut Bench) {
    let ours = FileStore::create(&bench.path("turn.ours"), false).await;
    let mut row =
        Row::new("warm turn, against one at 100 messages", 10_000, "us", Some(1.1)).skip_first(1);
    for round in 0..bench.rounds + 1 {
        for n in [10_000, 100] {
            let chat = chat(format_args!("chat-{n}-{round}"));
            ours.fill(&chat, n).await;
            let mut engine = ours.engine(&chat).open().await.unwrap();
            for i in 0..WARM_UP {
                turn(&mut engine, i).await;
            }
            ours.checkpoint();
            let work = async {
                for i in 0..TURNS {
                    turn(&mut engine, i).await;
                }
            };
            if n == 10_000 { row.ours(TURNS, work).await } else { row.floor(TURNS, work).await }
        }
    }
    bench.board.add(row);
}

/// Measures a turn of a new engine, as in a server that opens one per request, with a shared cache.
pub(crate) async fn shared(bench: &mut Bench) {
    let ours = FileStore::create(&bench.path("shared.ours"), false).await;
    let cache = ChainCache::new(ours.store().clone(), 64 << 20);
    let case = "turn of a new engine over a shared cache";
    let mut row = Row::new(case, 10_000, "us", Some(1.1)).skip_first(1);
    for round in 0..bench.rounds + 1 {
        for n in [10_000, 100] {
            let chat = chat(format_args!("chat-{n}-{round}"));
            ours.fill(&chat, n).await;
            for i in 0..WARM_UP {
                new_engine(&ours, &chat, &cache, i).await;
            }
            ours.checkpoint();
            let work = async {
                for i in 0..TURNS {
                    new_engine(&ours, &chat, &cache, i).await;
                }
            };
            if n == 10_000 { row.ours(TURNS, work).await } else { row.floor(TURNS, work).await }
        }
    }
    bench.board.add(row);
}

/// Measures the first turn of a new engine on a chat that was compacted.
pub(crate) async fn compacted(bench: &mut Bench) {
    let ours = FileStore::create(&bench.path("compacted.ours"), false).await;
    let (long, short) = (bench.max.min(100_000), 1_000);
    for n in [long, short] {
        let chat = chat(format_args!("compacted-{n}"));
        ours.fill(&chat, n).await;
        compact(&mut ours.engine(&chat).open().await.unwrap()).await;
    }
    ours.checkpoint();
    let case = "first turn of a new engine, compacted, against 1,000";
    let mut row = Row::new(case, long, "us", Some(1.5)).skip_first(1);
    for _ in 0..bench.rounds + 1 {
        for n in [long, short] {
            let chat = chat(format_args!("compacted-{n}"));
            let work = async {
                for i in 0..TURNS {
                    turn(&mut ours.engine(&chat).open().await.unwrap(), i).await;
                }
            };
            if n == long { row.ours(TURNS, work).await } else { row.floor(TURNS, work).await }
        }
    }
    bench.board.add(row);
}

/// Keeps the first message, a checkpoint and the newest hundred messages.
async fn compact(engine: &mut ContextEngine) {
    const KEPT: usize = 100;
    let turn = engine.resolve().await.unwrap();
    let len = turn.messages.len();
    let mut rewrite = HistoryRewrite::identity(&[]);
    let message = |at: usize| Arc::clone(turn.messages[at].message().unwrap());
    let checkpoint = Message::from("So far: a trip to Lisbon.").with_origin(Origin::Checkpoint);
    rewrite.messages.extend([message(0), Arc::new(checkpoint)]);
    rewrite.origins.extend([Some(0), None]);
    for at in len - KEPT..len {
        rewrite.messages.push(message(at));
        rewrite.origins.push(Some(at));
    }
    engine.compact(&turn, &rewrite, &[]).await.unwrap();
    let _saved = engine.save().await.unwrap();
}

async fn new_engine(ours: &FileStore, chat: &ChatRef, cache: &ChainCache, i: usize) {
    let mut engine = ours.engine(chat).cache(cache).open().await.unwrap();
    turn(&mut engine, i).await;
}

/// Runs a turn like an agent loop.
async fn turn(engine: &mut ContextEngine, i: usize) {
    engine.set([user(data::text(2 * i))]);
    std::hint::black_box(engine.resolve().await.unwrap());
    engine.set([assistant(data::text(2 * i + 1))]);
    let _saved = engine.save().await.unwrap();
}
