//! The replies to calls, and their texts, which are compared and printed.

use std::fmt::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use context_core::memory::StoredMemory;
use context_core::message::PlacedNode;
use context_core::store::{
    Branch, BranchDeletion, Chat, Checkpoint, CommitOutcome, Committed, Created, MemoryOutcome,
    RecordOutcome, Revision, StoredFragment, StoredStream, StreamOutcome,
};
use context_core::trajectory::RoundRecord;
use context_core::{MessageId, Node};

use super::call::chunk_text;
use crate::chat_fixture::message;

/// The reply of a store, or of the specification.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Done,
    Was(bool),
    Created(Created),
    Commit(CommitOutcome),
    Branch(BranchDeletion),
    Checkpoint(Checkpoint),
    Chat(Option<Chat>),
    Branches(Vec<Branch>),
    Chain(Vec<Arc<Node>>),
    Messages(Vec<Option<PlacedNode>>),
    Revisions(Vec<Revision>),
    Fragments(Vec<StoredFragment>),
    Checkpoints(Vec<Checkpoint>),
    Stream(StreamOutcome),
    StreamState(StoredStream),
    StreamPart(Option<(StoredStream, Vec<Bytes>)>),
    Recorded(RecordOutcome),
    Round(Option<RoundRecord>),
    /// A round of the specification: the number of commits and the texts of the nodes.
    RoundTexts(u64, Vec<String>),
    Memory(MemoryOutcome),
    /// A conflict of the specification: the version of the stored record, 0 for none.
    MemoryConflict(u64),
    Forgotten(u64),
    Memories(Vec<StoredMemory>),
    /// Records of the specification: id, version and text.
    MemoryTexts(Vec<(String, u64, String)>),
}

/// Prints the reply. Equal texts mean equal replies.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Was(was) => write!(f, "{was}"),
            Self::Created(Created::New(chat)) => write!(f, "new {}", chat_text(chat)),
            Self::Created(Created::Existing(chat)) => write!(f, "existing {}", chat_text(chat)),
            Self::Commit(outcome) => commit_text(outcome, f),
            Self::Branch(BranchDeletion::Deleted { messages }) => {
                write!(f, "deleted with {messages} messages")
            }
            Self::Branch(BranchDeletion::Conflict { actual }) => {
                write!(f, "conflict, head {}", id_text(actual.as_ref()))
            }
            Self::Branch(other) => write!(f, "{other:?}"),
            Self::Checkpoint(checkpoint) => f.write_str(&checkpoint_text(checkpoint)),
            Self::Chat(None) => f.write_str("no chat"),
            Self::Chat(Some(chat)) => f.write_str(&chat_text(chat)),
            Self::Branches(branches) => list(f, branches.iter().map(branch_text)),
            Self::Chain(nodes) => list(f, nodes.iter().map(|node| node_text(node))),
            Self::Messages(slots) => list(f, slots.iter().map(slot_text)),
            Self::Revisions(revisions) => list(f, revisions.iter().map(revision_text)),
            Self::Fragments(fragments) => list(f, fragments.iter().map(fragment_text)),
            Self::Checkpoints(all) => list(f, all.iter().map(checkpoint_text)),
            Self::Stream(outcome) => {
                let name = match outcome {
                    StreamOutcome::Applied(_) => "applied",
                    StreamOutcome::Replayed(_) => "replayed",
                    _ => "refused",
                };
                write!(f, "{name}: {}", stream_text(outcome.stream()))
            }
            Self::StreamState(stream) => f.write_str(&stream_text(stream)),
            Self::StreamPart(None) => f.write_str("no stream"),
            Self::StreamPart(Some((stream, chunks))) => {
                write!(f, "{} ", stream_text(stream))?;
                list(f, chunks.iter().map(chunk_text))
            }
            Self::Recorded(RecordOutcome::Applied) => f.write_str("applied"),
            Self::Recorded(RecordOutcome::Replayed) => f.write_str("replayed"),
            Self::Recorded(RecordOutcome::Conflict { actual }) => {
                write!(f, "conflict, {actual} commits")
            }
            Self::Recorded(other) => write!(f, "{other:?}"),
            Self::Round(None) => round_text(f, 0, std::iter::empty()),
            Self::Round(Some(record)) => {
                let texts = record.nodes.iter().map(|node| node.body.headline().to_owned());
                round_text(f, record.head.revision, texts)
            }
            Self::RoundTexts(revision, texts) => round_text(f, *revision, texts.iter().cloned()),
            Self::Memory(MemoryOutcome::Applied(written)) => {
                list(f, written.iter().map(|written| format!("{written:?}")))
            }
            Self::Memory(MemoryOutcome::Conflict { stored, .. }) => {
                let version = stored.as_ref().map_or(0, |stored| stored.version);
                write!(f, "conflict, version {version}")
            }
            Self::Memory(other) => write!(f, "{other:?}"),
            Self::MemoryConflict(version) => write!(f, "conflict, version {version}"),
            Self::Forgotten(removed) => write!(f, "forgot {removed}"),
            Self::Memories(memories) => {
                let text = |stored: &StoredMemory| {
                    memory_text(stored.record.id.as_str(), stored.version, &stored.record.text)
                };
                list(f, memories.iter().map(text))
            }
            Self::MemoryTexts(records) => {
                let text =
                    |(id, version, text): &(String, u64, String)| memory_text(id, *version, text);
                list(f, records.iter().map(text))
            }
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, items: impl Iterator<Item = String>) -> fmt::Result {
    f.write_char('[')?;
    for (i, item) in items.enumerate() {
        write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
    }
    f.write_char(']')
}

fn round_text(
    f: &mut fmt::Formatter<'_>,
    revision: u64,
    texts: impl Iterator<Item = String>,
) -> fmt::Result {
    write!(f, "{revision} commits ")?;
    list(f, texts)
}

fn id_text(id: Option<&MessageId>) -> &str {
    id.map_or("none", MessageId::as_str)
}

fn commit_text(outcome: &CommitOutcome, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut committed = |name, committed: &Committed| {
        let branch = committed.branch.as_ref().map_or("none", |branch| branch.as_str());
        let (head, onto) = (id_text(committed.head.as_ref()), id_text(committed.onto.as_ref()));
        write!(f, "{name}: branch {branch}, head {head}, onto {onto}")
    };
    match outcome {
        CommitOutcome::Applied(written) => committed("applied", written),
        CommitOutcome::Replayed(written) => committed("replayed", written),
        CommitOutcome::Conflict { actual } => {
            write!(f, "conflict, head {}", id_text(actual.as_ref()))
        }
        CommitOutcome::Exists { ids } => {
            f.write_str("exists ")?;
            list(f, ids.iter().map(ToString::to_string))
        }
        other => write!(f, "{other:?}"),
    }
}

fn chat_text(chat: &Chat) -> String {
    let count = chat.metadata.get("count").map_or_else(|| "0".to_owned(), ToString::to_string);
    let (active, at) = (&chat.active, chat.updated_at.as_micros());
    format!("chat on {active}, count {count}, updated at {at}")
}

fn branch_text(branch: &Branch) -> String {
    let (name, head) = (&branch.name, id_text(branch.head.as_ref()));
    let active = if branch.active { " active" } else { "" };
    format!("{name} of {} to {head}{active}", branch.length)
}

/// Returns the id of a message. One that was amended is shown with its revision and its body.
fn node_text(node: &Node) -> String {
    if node.revision == 0 && node.same_content(&message(node.id.as_str())) {
        return node.id.to_string();
    }
    let body = String::from_utf8_lossy(node.body().bytes()).into_owned();
    format!("{} r{} {body}", node.id, node.revision)
}

fn slot_text(slot: &Option<PlacedNode>) -> String {
    slot.as_ref().map_or_else(
        || "none".to_owned(),
        |placed| {
            let (depth, parent) = (placed.depth, id_text(placed.parent.as_ref()));
            format!("{} at {depth} after {parent}", node_text(&placed.node))
        },
    )
}

fn revision_text(revision: &Revision) -> String {
    format!("{} until {}", node_text(&revision.node), revision.replaced_at.as_micros())
}

fn fragment_text(fragment: &StoredFragment) -> String {
    let id = fragment.id.as_ref().map_or("none", |id| id.as_str());
    format!("{id} {}", String::from_utf8_lossy(fragment.body.bytes()))
}

fn checkpoint_text(checkpoint: &Checkpoint) -> String {
    format!("{} at {}", checkpoint.name, checkpoint.message)
}

fn stream_text(stream: &StoredStream) -> String {
    let (state, run, chunks) = (stream.state.as_str(), stream.run, stream.chunks);
    let writer = stream.writer.as_ref().map_or("nobody", |writer| writer.as_str());
    let cancel = if stream.cancel_requested_at.is_some() { ", cancel requested" } else { "" };
    let at = stream.updated_at.as_micros();
    format!("{state} run {run} by {writer}, {chunks} chunks{cancel}, updated at {at}")
}

fn memory_text(id: &str, version: u64, text: &str) -> String {
    format!("{id} v{version} {text}")
}
