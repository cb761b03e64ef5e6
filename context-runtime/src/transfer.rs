//! Transfer of whole chats: between stores, and to and from files.
//!
//! A chat is transferred as a stream of [`ChatRecord`]s: the chat itself, its branches, checkpoints
//! and fragments, its blobs, then every message, a parent before its children. [`ChatReader`] reads
//! the stream from a store and [`ChatWriter`] writes a chat from the stream. Messages are read page
//! by page and blobs one by one, so memory use does not grow with the chat. [`copy_chat`] combines
//! the two. [`migrate_chat`] does it for whole stores, idempotently, and verifies copies with
//! [`ChatDigest`]s. [`export_jsonl`] and [`import_jsonl`] use a file in between. With the
//! feature `transcript`, a [`Tree`] is a chat built in memory, and a [`TreePlan`] writes it.
//!
//! The copy has everything of the graph: ids, timestamps, revisions, token counts, bodies byte for
//! byte, branches in their order, checkpoints, fragments, blobs with their timestamps, title and
//! metadata. Idempotency keys of commits, earlier versions of fragments, streams, rounds of
//! trajectories and memories are not transferred. [`LeftBehind`] counts all but the keys, so that a
//! program can report them or refuse.
//! A chat that is written to while it is read is copied as of some moment in between.

mod check;
mod copy;
mod digest;
mod fork;
mod jsonl;
mod left_behind;
mod line;
mod migrate;
mod reader;
mod record;
mod sections;
#[cfg(feature = "transcript")]
mod tree;
mod writer;

#[cfg(feature = "transcript")]
pub use context_transcript::{Tree, TreeDifference, TreeError};
pub use copy::copy_chat;
pub use digest::{ChatDigest, PartDigest};
pub(crate) use fork::write_fork;
pub use jsonl::{
    ChatOutcome, ExportedJsonl, ImportJsonl, ImportedChat, ImportedJsonl, check_jsonl,
    export_jsonl, export_jsonl_as_is, import_jsonl, is_jsonl,
};
pub use left_behind::LeftBehind;
pub use migrate::{MigrateChat, MigratePhase, Migrated, migrate_chat};
pub use reader::ChatReader;
pub use record::{BlobRecord, ChatMessageRecord, ChatRecord};
pub use sections::BrokenLine;
#[cfg(feature = "transcript")]
pub use tree::{TreeExtension, TreePlan, TreeWritten};
pub use writer::{ChatWriter, WrittenChat};
