//! Appending: single messages, and a hundred in one commit.

use context_runtime::MessageId;

use crate::backend::Backend;
use crate::board::Row;
use crate::library_store::chat;
use crate::{Bench, data};

/// The length of the chat before it grows.
const LENGTH: usize = 1_000;

/// Appends one message and moves the head.
pub(crate) async fn one(bench: &mut Bench, backend: &Backend) {
    let (case, target) = match backend.name {
        "sqlite" => ("sqlite: append", Some(1.2)),
        "postgres" => ("postgres: append", Some(1.3)),
        _ => ("redis: append", Some(1.5)),
    };
    grow(bench, backend, Row::new(case, LENGTH, "us", target), 64, 1).await;
}

/// Appends a hundred messages in one commit.
pub(crate) async fn batch(bench: &mut Bench, backend: &Backend) {
    let case = match backend.name {
        "sqlite" => "sqlite: append, batch of 100",
        "postgres" => "postgres: append, batch of 100",
        _ => "redis: append, batch of 100",
    };
    grow(bench, backend, Row::new(case, LENGTH, "us", None), 800, 100).await;
}

/// Appends this many messages per round, `step` per commit.
async fn grow(bench: &mut Bench, backend: &Backend, row: Row, messages: usize, step: usize) {
    if !bench.options.has(row.case()) {
        return;
    }
    let (ours, floor, chat) = (backend.ours().await, backend.floor().await, chat("chat"));
    let mut head: MessageId = ours.fill(&chat, LENGTH).await;
    floor.append(&data::nodes(0..LENGTH)).await;
    let mut row = row.skip_first(2);
    for round in 0..bench.options.rounds + 2 {
        let first = LENGTH + round * messages;
        let nodes = data::nodes(first..first + messages);
        row.ours(messages, async {
            for nodes in nodes.chunks(step) {
                head = ours.append(&chat, &head, nodes).await;
            }
        })
        .await;
        row.floor(messages, async {
            for nodes in nodes.chunks(step) {
                floor.append(nodes).await;
            }
        })
        .await;
    }
    bench.board.add(row);
}
