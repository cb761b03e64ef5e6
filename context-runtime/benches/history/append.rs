//! Appending: single messages, two in one commit, concurrent appends, and whether the cost stays
//! flat when a chat and its store grow.

use context_runtime::{ChatRef, MessageId, store::Node};

use crate::bench::Bench;
use crate::board::Row;
use crate::data;
use crate::file_store::{FileStore, chat};
use crate::floor::Floor;

/// The number of messages that a round appends.
const MESSAGES: usize = 256;

/// A chat that grows.
struct GrowingChat {
    ours: FileStore,
    chat: ChatRef,
    head: MessageId,
    next: usize,
}

impl GrowingChat {
    async fn create(bench: &Bench, name: &str, n: usize, full_text: bool) -> Self {
        let ours = FileStore::create(&bench.path(&format!("{name}-{n}.ours")), full_text).await;
        let chat = chat("chat");
        let head = ours.fill(&chat, n).await;
        ours.checkpoint();
        Self { ours, chat, head, next: n }
    }

    /// Returns the messages of the next round.
    fn round(&mut self) -> Vec<Node> {
        self.next += MESSAGES;
        data::nodes(self.next - MESSAGES..self.next)
    }

    async fn append(&mut self, nodes: &[Node], step: usize) {
        for nodes in nodes.chunks(step) {
            self.head = self.ours.append(&self.chat, &self.head, nodes).await;
        }
    }
}

/// Appends one message and moves the head, at the end of chats of all sizes. The floor has no full
/// text, whatever ours has.
pub(crate) async fn append(bench: &mut Bench, full_text: bool) {
    let (name, case, flat, target) = match full_text {
        false => ("append", "append", "append, against one to a short chat", 1.2),
        true => {
            ("text", "append with full text", "append with full text, against a short chat", 1.4)
        }
    };
    let mut short = None;
    for n in bench.sizes(&[10, 1_000, 10_000, 100_000, 1_000_000]) {
        let mut growing = GrowingChat::create(bench, name, n, full_text).await;
        let floor = Floor::create(&bench.path(&format!("{name}-{n}.floor")), false);
        floor.fill_linked(n);
        let _folded = floor.bytes();
        let mut row = Row::new(case, n, "us", Some(target)).skip_first(2);
        for _ in 0..bench.rounds + 2 {
            let nodes = growing.round();
            row.ours(MESSAGES, growing.append(&nodes, 1)).await;
            row.floor(MESSAGES, async { nodes.chunks(1).for_each(|one| floor.append(one)) }).await;
        }
        bench.board.add(row);
        if n == 10_000 && !full_text {
            in_pairs(bench, &mut growing, &floor).await;
            let (own, bare) = (growing.ours.bytes(), floor.bytes());
            bench.board.add(Row::sizes("bytes on disk per message", growing.next, own, bare));
        }
        drop(floor);
        bench.remove(&format!("{name}-{n}.floor"));
        let Some(short) = &mut short else {
            short = Some(growing);
            continue;
        };
        if n >= 100_000 {
            flatness(bench, Row::new(flat, n, "us", Some(1.2)), &mut growing, short).await;
        }
        drop(growing);
        bench.remove(&format!("{name}-{n}.ours"));
    }
}

/// Appends a question and its answer.
async fn in_pairs(bench: &mut Bench, growing: &mut GrowingChat, floor: &Floor) {
    let mut row = Row::new("append two in one commit", 10_000, "us", None).skip_first(1);
    for _ in 0..bench.rounds + 1 {
        let nodes = growing.round();
        row.ours(MESSAGES / 2, growing.append(&nodes, 2)).await;
        row.floor(MESSAGES / 2, async { nodes.chunks(2).for_each(|pair| floor.append(pair)) })
            .await;
    }
    bench.board.add(row);
}

/// Measures the same append in a large store and, as its floor, in a small one.
async fn flatness(bench: &mut Bench, row: Row, long: &mut GrowingChat, short: &mut GrowingChat) {
    let mut row = row.skip_first(2);
    for _ in 0..bench.rounds + 2 {
        let nodes = long.round();
        row.ours(MESSAGES, long.append(&nodes, 1)).await;
        let nodes = short.round();
        row.floor(MESSAGES, short.append(&nodes, 1)).await;
    }
    bench.board.add(row);
}

/// Sixteen tasks, each with a chat of its own, append at once and wait for each other, repeatedly.
/// The floor writes the same messages in one transaction after the other.
pub(crate) async fn together(bench: &mut Bench) {
    const TASKS: usize = 16;
    let ours = FileStore::create(&bench.path("together.ours"), false).await;
    let floor = Floor::create(&bench.path("together.floor"), false);
    let mut chats = Vec::new();
    for task in 0..TASKS {
        let chat = chat(format_args!("chat-{task}"));
        let head = ours.fill(&chat, 100).await;
        chats.push((chat, head));
    }
    floor.fill_linked(100);
    let mut row = Row::new("16 appends that wait together", TASKS, "us", Some(0.4)).skip_first(2);
    for round in 0..bench.rounds + 2 {
        let first = 100 + round * MESSAGES;
        let nodes = data::nodes(first..first + MESSAGES);
        let mut groups: Vec<Vec<Node>> = nodes.chunks(TASKS).map(<[_]>::to_vec).collect();
        row.ours(MESSAGES, async {
            for group in groups.drain(..) {
                let append = |((chat, head), node): ((ChatRef, MessageId), Node)| {
                    let ours = ours.clone();
                    tokio::spawn(async move {
                        let head = ours.append(&chat, &head, &[node]).await;
                        (chat, head)
                    })
                };
                let tasks: Vec<_> = chats.drain(..).zip(group).map(append).collect();
                for task in tasks {
                    chats.push(task.await.unwrap());
                }
            }
        })
        .await;
        row.floor(MESSAGES, async { nodes.chunks(1).for_each(|one| floor.append(one)) }).await;
    }
    bench.board.add(row);
}
