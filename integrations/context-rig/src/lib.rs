//! [rig](https://docs.rs/rig-memory)'s session storage and agent memory over any store of the
//! context layer.
//!
//! A [`RigStore`] is a `rig_memory::AsyncStore`. Give it to `AgentBuilder::memory`, or to
//! `load_async` and `save_async`. Each log of rig is a chat of one user, under the log's name, and
//! each message of rig is a message of that chat. So the inspector, search, the command, branches
//! and compaction work on the conversations of a rig agent, in SQLite, PostgreSQL, Redis (which has
//! no search) or memory.
//!
//! ```
//! use context_rig::RigStore;
//! use rig_core::message::Message;
//! use rig_memory::{load_async, save_async};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = context_runtime::open("mem:").await?; // or sqlite:trips.db
//! let memory = RigStore::new(store, "ada");
//!
//! let mut conversation = load_async(&memory, "lisbon").await?;
//! conversation.push(Message::user("Two tickets to Lisbon."));
//! save_async(&memory, "lisbon", &mut conversation).await?;
//! assert_eq!(load_async(&memory, "lisbon").await?, conversation);
//! # Ok(())
//! # }
//! ```
//!
//! # The log of a chat
//!
//! A log is the active branch of its chat. It reads back byte for byte as it was written: a record
//! with messages is rebuilt from them, and every other record is kept as text, in a message without
//! parts, which no model is shown. In addition:
//!
//! * A message that another program added to the chat is a record of its own.
//! * After a switch to another branch, or a rewind, rig continues from that branch. Branches other
//!   than `main` have a lineage of their own, so a run that began before the switch is refused with
//!   `SessionError::Changed` and overwrites nothing.
//! * After a compaction of the context layer, the log begins with the messages that the compaction
//!   shows. Its lineage is new, too. Undoing the compaction brings the messages back. A chat should
//!   be compacted by one of the two libraries: messages that rig has summarized are shown again
//!   when the context layer compacts the same chat.
//!
//! A chat belongs to a user, so a conversation is one of this user's. The preamble of an agent
//! stays in rig and is not stored.
//!
//! Reading and appending cost one read of the chain, since rig compares the length of the log.
//!
//! Files, such as the images of messages, are blobs of the chat [`FILES`], which all logs of the
//! user share. A store without blobs keeps logs but no files.
//!
//! # Two writers
//!
//! rig refuses an append to a log that has changed since it was read, with `SessionError::Changed`:
//! of two runs of one conversation at the same time, the second is not stored, and its answer is in
//! the error. Ask again, which reads the conversation first. Conversations of their own do not wait
//! for each other.
//!
//! # Messages
//!
//! [`from_rig`] and [`to_rig`] convert single messages. The way there and back loses nothing: what
//! a message of the context layer has no field for stays in its metadata, under `rig`.
//!
//! # Limits
//!
//! * `RigStore` implements `AsyncStore`. rig's synchronous `Store` (`history`, `as_of`, `rewrite`)
//!   reads and writes whole folders and is not implemented; the context layer has its own forms of
//!   the three.
//! * A log name has at most 512 bytes, an append at most 10,000 messages, a message 16 MiB, a file
//!   64 MiB.
//! * The bytes that `replace_log_async` replaces are no longer part of the log, but remain in the
//!   chat. To destroy content, redact the messages of the chat or delete the chat.

mod convert;
mod error;
mod files;
mod log;
mod record;
mod store;

pub use convert::{from_rig, to_rig};
pub use error::ConvertError;
pub use store::{FILES, RigStore};
