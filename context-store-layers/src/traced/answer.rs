//! The fields of a span that summarize the answer of a call.

use bytes::Bytes;
use context_core::memory::{MemoriesForgotten, StoredMemory};
use context_core::message::PlacedNode;
use context_core::store::{
    Blob, BlobsPruned, Branch, BranchDeletion, Chat, ChatSize, ChatSummary, CheckReport,
    Checkpoint, CommitOutcome, Created, Erasure, FragmentLog, MemoriesFound, MemoryOutcome,
    MemoryStats, MessageNode, OpenedChat, Page, RecordOutcome, RefLog, Revision, RoundsPruned,
    SearchHit, StoreFacts, StoredFragment, StoredStream, StreamOutcome, StreamPart, StreamWatch,
    StreamsPruned, Vacuumed,
};
use context_core::trajectory::{RoundHead, RoundRecord};
use context_core::{Chain, Node, UserId};

use super::content::ContentText;

/// A summary of an answer.
pub(super) struct Summary {
    pub(super) outcome: &'static str,
    pub(super) items: Option<u64>,
    pub(super) bytes: Option<u64>,
}

impl Summary {
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
    fn summary(&self) -> Summary;

    /// Returns the text in the answer.
    fn content(&self) -> Option<String> {
        None
    }
}

/// Implements answers whose summary is one expression.
macro_rules! answers {
    ($($type:ty: |$this:ident| $summary:expr;)+) => {
        $(impl Answer for $type {
            fn summary(&self) -> Summary {
                let $this = self;
                $summary
            }
        })+
    };
}

answers! {
    (): |_done| Summary::outcome("ok");
    bool: |done| Summary::outcome(if *done { "done" } else { "none" });
    u64: |removed| Summary::of("ok", *removed);
    Created: |created| Summary::outcome(if matches!(created,
        Created::New(_)) { "new" } else { "existing" });
    Option<Chat>: |chat| found(chat.is_some());
    Chat: |_chat| Summary::outcome("ok");
    Page<ChatSummary>: |page| Summary::of("ok", page.items.len() as u64);
    Page<UserId>: |page| Summary::of("ok", page.items.len() as u64);
    ChatSize: |size| Summary::of("ok", size.messages).bytes(size.bytes);
    Vec<Branch>: |branches| Summary::of("ok", branches.len() as u64);
    Checkpoint: |_checkpoint| Summary::outcome("ok");
    Vec<Checkpoint>: |checkpoints| Summary::of("ok", checkpoints.len() as u64);
    Blob: |_blob| Summary::outcome("ok");
    Option<Blob>: |blob| found(blob.is_some());
    Option<Bytes>: |bytes| found(bytes.is_some()).bytes(bytes.as_ref().map_or(0,
        Bytes::len) as u64);
    Page<Blob>: |page| Summary::of("ok", page.items.len() as u64);
    BlobsPruned: |pruned| Summary::of("ok", pruned.references).bytes(pruned.bytes);
    StoredStream: |_stream| Summary::outcome("ok");
    Option<StoredStream>: |stream| found(stream.is_some());
    Option<Box<dyn StreamWatch>>: |watch| found(watch.is_some());
    Page<StoredStream>: |page| Summary::of("ok", page.items.len() as u64);
    StreamsPruned: |pruned| Summary::of("ok", pruned.streams).bytes(pruned.bytes);
    Vec<RoundRecord>: |rounds| Summary::of("ok",
        rounds.len() as u64).bytes(rounds.iter().map(body_bytes).sum());
    Page<RoundHead>: |page| Summary::of("ok", page.items.len() as u64);
    Vec<MessageNode>: |nodes| Summary::of("ok", nodes.len() as u64);
    RoundsPruned: |pruned| Summary::of("ok", pruned.rounds);
    MemoryOutcome: |outcome| Summary::outcome(match outcome {
        MemoryOutcome::Applied(_) => "applied",
        MemoryOutcome::Conflict { .. } => "conflict",
        _ => "other",
    });
    MemoriesForgotten: |gone| Summary::of(if gone.remaining == 0 { "forgotten" } else { "remains" },
        gone.removed);
    Page<MemoryStats>: |page| Summary::of("ok", page.items.len() as u64);
    RecordOutcome: |outcome| Summary::outcome(match outcome {
        RecordOutcome::Applied => "applied",
        RecordOutcome::Replayed => "replayed",
        RecordOutcome::Conflict { .. } => "conflict",
        _ => "other",
    });
    CheckReport: |report| Summary::of(
        if report.findings.is_empty() { "clean" } else { "broken" },
        report.findings.len() as u64,
    );
    Erasure: |erased| Summary::of(if erased.remaining == 0 { "erased" } else { "remains" },
        erased.chats);
    StoreFacts: |_facts| Summary::outcome("ok");
    Vacuumed: |_vacuumed| Summary::outcome("ok");
    CommitOutcome: |outcome| Summary::outcome(match outcome {
        CommitOutcome::Applied(_) => "applied",
        CommitOutcome::Replayed(_) => "replayed",
        CommitOutcome::Conflict { .. } => "conflict",
        CommitOutcome::Exists { .. } => "exists",
        _ => "other",
    });
    BranchDeletion: |deletion| match deletion {
        BranchDeletion::Deleted { messages } => Summary::of("deleted", *messages),
        BranchDeletion::Conflict { .. } => Summary::of("conflict", 0),
        _ => Summary::of("other", 0),
    };
    StreamOutcome: |outcome| Summary::outcome(match outcome {
        StreamOutcome::Applied(_) => "applied",
        StreamOutcome::Replayed(_) => "replayed",
        StreamOutcome::Refused(_) => "refused",
        _ => "other",
    });
    Option<StreamPart>: |part| {
        let chunks = part.iter().flat_map(|part| &part.chunks);
        let (items, bytes) = chunks.fold((0, 0), |(items, bytes),
            chunk| (items + 1, bytes + chunk.len() as u64));
        Summary { items: Some(items), ..found(part.is_some()) }.bytes(bytes)
    };
}

fn body_bytes(record: &RoundRecord) -> u64 {
    record.nodes.iter().map(|node| node.body.bytes() as u64).sum()
}

fn found(found: bool) -> Summary {
    Summary::of(if found { "found" } else { "none" }, found.into())
}

/// Implements answers that are messages or fragments: their number, their bytes, their text.
macro_rules! bodies {
    ($($type:ty: |$this:ident| $bodies:expr;)+) => {
        $(impl Answer for $type {
            fn summary(&self) -> Summary {
                let $this = self;
                let (items, bytes) =
                    $bodies.fold((0, 0), |(items, bytes),
                        body: &[u8]| (items + 1, bytes + body.len() as u64));
                Summary::of("ok", items).bytes(bytes)
            }

            fn content(&self) -> Option<String> {
                let $this = self;
                ContentText::of($bodies)
            }
        })+
    };
}

bodies! {
    Vec<Option<PlacedNode>>: |found| found.iter().flatten().map(|placed| body(&placed.node));
    Page<PlacedNode>: |page| page.items.iter().map(|placed| body(&placed.node));
    Vec<Revision>: |revisions| revisions.iter().map(|revision| body(&revision.node));
    Vec<StoredFragment>: |fragments| fragments.iter().map(|fragment| &fragment.body.bytes()[..]);
    FragmentLog: |log| log.versions().iter().map(|version|
        version.fragment.as_ref().map_or(&[][..], |fragment| &fragment.body.bytes()[..]));
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

impl Answer for Option<OpenedChat> {
    /// The items are messages.
    fn summary(&self) -> Summary {
        let messages = self.as_ref().map_or(0, |opened| opened.chain.len());
        Summary { items: Some(messages as u64), ..found(self.is_some()) }
    }

    fn content(&self) -> Option<String> {
        self.as_ref().and_then(|opened| opened.chain.content())
    }
}

impl Answer for RefLog {
    fn summary(&self) -> Summary {
        Summary::of("ok", self.entries().len() as u64)
    }
}

impl Answer for Page<SearchHit> {
    fn summary(&self) -> Summary {
        Summary::of("ok", self.items.len() as u64)
    }
}

impl Answer for Chain {
    /// Bytes are not counted, because that would unpack the chain, which tracing must not cause.
    fn summary(&self) -> Summary {
        Summary::of("ok", self.len() as u64)
    }

    fn content(&self) -> Option<String> {
        ContentText::of(self.iter().map(|node| body(node)))
    }
}
