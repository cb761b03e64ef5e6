//! The fields of a span about the answer of a call.

use bytes::Bytes;
use context_core::memory::{MemoriesForgotten, StoredMemory};
use context_core::message::Placed;
use context_core::store::{
    Blob, BlobsPruned, Branch, BranchDeletion, Chat, ChatSize, ChatSummary, CheckReport,
    Checkpoint, CommitOutcome, Created, Erasure, MemoriesFound, MemoryOutcome, MemoryStats,
    MessageNode, Page, RecordOutcome, Revision, RoundsPruned, SearchHit, StoredFragment,
    StoredStream, StreamOutcome, StreamPart, StreamsPruned, Vacuumed,
};
use context_core::trajectory::{RoundHead, RoundRecord};
use context_core::{Chain, Node, UserId};

use super::words::Words;

/// The facts about an answer.
pub(super) struct Facts {
    pub(super) outcome: &'static str,
    pub(super) items: Option<u64>,
    pub(super) bytes: Option<u64>,
}

impl Facts {
    fn outcome(outcome: &'static str) -> Self {
        Self { outcome, items: None, bytes: None }
    }

    fn of(outcome: &'static str, items: u64) -> Self {
        Self { items: Some(items), ..Self::outcome(outcome) }
    }

    fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }
}

/// The return type of a call of the store.
pub(super) trait Answer {
    fn facts(&self) -> Facts;

    /// Returns the text in the answer.
    fn content(&self) -> Option<String> {
        None
    }
}

/// Implements answers whose facts are one expression.
macro_rules! answers {
    ($($type:ty: |$this:ident| $facts:expr;)+) => {
        $(impl Answer for $type {
            fn facts(&self) -> Facts {
                let $this = self;
                $facts
            }
        })+
    };
}

answers! {
    (): |_done| Facts::outcome("ok");
    bool: |done| Facts::outcome(if *done { "done" } else { "none" });
    Created: |created| Facts::outcome(if matches!(created,
        Created::New(_)) { "new" } else { "existing" });
    Option<Chat>: |chat| found(chat.is_some());
    Chat: |_chat| Facts::outcome("ok");
    Page<ChatSummary>: |page| Facts::of("ok", page.items.len() as u64);
    Page<UserId>: |page| Facts::of("ok", page.items.len() as u64);
    ChatSize: |size| Facts::of("ok", size.messages).bytes(size.bytes);
    Vec<Branch>: |branches| Facts::of("ok", branches.len() as u64);
    Checkpoint: |_checkpoint| Facts::outcome("ok");
    Vec<Checkpoint>: |checkpoints| Facts::of("ok", checkpoints.len() as u64);
    Blob: |_blob| Facts::outcome("ok");
    Option<Blob>: |blob| found(blob.is_some());
    Option<Bytes>: |bytes| found(bytes.is_some()).bytes(bytes.as_ref().map_or(0,
        Bytes::len) as u64);
    Page<Blob>: |page| Facts::of("ok", page.items.len() as u64);
    BlobsPruned: |pruned| Facts::of("ok", pruned.references).bytes(pruned.bytes);
    StoredStream: |_stream| Facts::outcome("ok");
    Option<StoredStream>: |stream| found(stream.is_some());
    Page<StoredStream>: |page| Facts::of("ok", page.items.len() as u64);
    StreamsPruned: |pruned| Facts::of("ok", pruned.streams).bytes(pruned.bytes);
    Vec<RoundRecord>: |rounds| Facts::of("ok",
        rounds.len() as u64).bytes(rounds.iter().map(body_bytes).sum());
    Page<RoundHead>: |page| Facts::of("ok", page.items.len() as u64);
    Vec<MessageNode>: |nodes| Facts::of("ok", nodes.len() as u64);
    RoundsPruned: |pruned| Facts::of("ok", pruned.rounds);
    MemoryOutcome: |outcome| Facts::outcome(match outcome {
        MemoryOutcome::Applied(_) => "applied",
        MemoryOutcome::Conflict { .. } => "conflict",
        _ => "other",
    });
    MemoriesForgotten: |gone| Facts::of(if gone.remaining == 0 { "forgotten" } else { "remains" },
        gone.removed);
    Page<MemoryStats>: |page| Facts::of("ok", page.items.len() as u64);
    RecordOutcome: |outcome| Facts::outcome(match outcome {
        RecordOutcome::Applied => "applied",
        RecordOutcome::Replayed => "replayed",
        RecordOutcome::Conflict { .. } => "conflict",
        _ => "other",
    });
    CheckReport: |report| Facts::of(
        if report.findings.is_empty() { "clean" } else { "broken" },
        report.findings.len() as u64,
    );
    Erasure: |erased| Facts::of(if erased.remaining == 0 { "erased" } else { "remains" },
        erased.chats);
    Vacuumed: |_vacuumed| Facts::outcome("ok");
    CommitOutcome: |outcome| Facts::outcome(match outcome {
        CommitOutcome::Applied(_) => "applied",
        CommitOutcome::Replayed(_) => "replayed",
        CommitOutcome::Conflict { .. } => "conflict",
        CommitOutcome::Exists { .. } => "exists",
        _ => "other",
    });
    BranchDeletion: |deletion| match deletion {
        BranchDeletion::Deleted { messages } => Facts::of("deleted", *messages),
        BranchDeletion::Conflict { .. } => Facts::of("conflict", 0),
        _ => Facts::of("other", 0),
    };
    StreamOutcome: |outcome| Facts::outcome(match outcome {
        StreamOutcome::Applied(_) => "applied",
        StreamOutcome::Replayed(_) => "replayed",
        StreamOutcome::Refused(_) => "refused",
        _ => "other",
    });
    Option<StreamPart>: |part| {
        let chunks = part.iter().flat_map(|part| &part.chunks);
        let (items, bytes) = chunks.fold((0, 0), |(items, bytes),
            chunk| (items + 1, bytes + chunk.len() as u64));
        Facts { items: Some(items), ..found(part.is_some()) }.bytes(bytes)
    };
}

fn body_bytes(record: &RoundRecord) -> u64 {
    record.nodes.iter().map(|node| node.body.bytes() as u64).sum()
}

fn found(found: bool) -> Facts {
    Facts::of(if found { "found" } else { "none" }, found.into())
}

/// Implements answers that are messages or fragments: their number, their bytes, their text.
macro_rules! bodies {
    ($($type:ty: |$this:ident| $bodies:expr;)+) => {
        $(impl Answer for $type {
            fn facts(&self) -> Facts {
                let $this = self;
                let (items, bytes) =
                    $bodies.fold((0, 0), |(items, bytes),
                        body: &[u8]| (items + 1, bytes + body.len() as u64));
                Facts::of("ok", items).bytes(bytes)
            }

            fn content(&self) -> Option<String> {
                let $this = self;
                Words::of($bodies)
            }
        })+
    };
}

bodies! {
    Vec<Option<Placed>>: |found| found.iter().flatten().map(|placed| body(&placed.node));
    Page<Placed>: |page| page.items.iter().map(|placed| body(&placed.node));
    Vec<Revision>: |revisions| revisions.iter().map(|revision| body(&revision.node));
    Vec<StoredFragment>: |fragments| fragments.iter().map(|fragment| &fragment.body.bytes()[..]);
    Vec<StoredMemory>: |memories| memories.iter().map(says);
    Page<StoredMemory>: |page| page.items.iter().map(says);
    Vec<Vec<StoredMemory>>: |beside| beside.iter().flatten().map(says);
    MemoriesFound: |found| found.hits.iter().map(|hit| says(&hit.stored));
}

fn says(stored: &StoredMemory) -> &[u8] {
    stored.record.text.as_bytes()
}

fn body(node: &Node) -> &[u8] {
    node.body().bytes()
}

impl Answer for Page<SearchHit> {
    fn facts(&self) -> Facts {
        Facts::of("ok", self.items.len() as u64)
    }
}

impl Answer for Chain {
    /// Bytes are not counted, because that would unpack the chain, which tracing must not cause.
    fn facts(&self) -> Facts {
        Facts::of("ok", self.len() as u64)
    }

    fn content(&self) -> Option<String> {
        Words::of(self.iter().map(|node| body(node)))
    }
}
