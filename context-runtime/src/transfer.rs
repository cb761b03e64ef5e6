//! Whole chats on their way in and out: between stores, and to and from files.
//!
//! A chat travels as a stream of [`ChatRecord`]s: what it is, its branches, checkpoints and
//! fragments, its blobs, then every message, a parent before its children. [`ChatReader`] makes the
//! stream out of a store and [`ChatWriter`] a chat out of the stream, messages page by page and
//! blobs one by one, so the memory they take does not grow with either. [`copy_chat`] joins the
//! two; [`migrate_chat`] does it for whole stores, safe to repeat and compared by [`ChatDigest`]s;
//! [`export_jsonl`] and [`import_jsonl`] put a file between them. A [`Tree`] is a chat put together
//! in memory, out of a foreign form.
//!
//! Everything of the graph arrives: ids, times, revisions, counts of tokens, bodies byte for byte,
//! branches in their order, checkpoints, fragments, blobs with their times, title and metadata.
//! What does not travel: the keys of commits that were made safe to repeat, streams, rounds of
//! trajectories and memories; [`LeftBehind`] counts the last three, so that a program can say so or
//! refuse. A chat that is written to while it is read arrives as of some moment in between.

mod check;
mod copy;
mod digest;
mod jsonl;
mod left_behind;
mod line;
mod migrate;
mod reader;
mod record;
mod sections;
mod tree;
mod writer;

pub use copy::copy_chat;
pub use digest::{ChatDigest, PartDigest};
pub use jsonl::{
    ChatOutcome, ExportedJsonl, ImportJsonl, ImportedChat, ImportedJsonl, check_jsonl,
    export_jsonl, export_jsonl_as_is, import_jsonl, is_jsonl,
};
pub use left_behind::LeftBehind;
pub use migrate::{MigrateChat, Migrated, migrate_chat};
pub use reader::ChatReader;
pub use record::{BlobRecord, ChatRecord, MessageRecord};
pub use sections::BrokenLine;
pub use tree::{Tree, TreeError, TreePlan, TreeWritten};
pub use writer::{ChatWriter, WrittenChat};
