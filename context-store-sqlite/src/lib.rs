//! The SQLite store of the context layer: one file, one writer, packed runs of messages.
//!
//! ```
//! use context_core::{ChatRef, Store, Timestamp};
//! use context_core::store::NewChat;
//! use context_store_sqlite::{SqliteConfig, SqliteStore};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("chats.db");
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let store = SqliteStore::open(SqliteConfig::new(path)).await?;
//! let chat = NewChat::new(ChatRef::new("ada", "trip"), Timestamp::from_micros(1));
//! assert_eq!(store.history().create_chat(chat).await?.into_chat().active, "main");
//! store.close().await?;
//! # Ok::<_, context_core::Error>(())
//! # })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! * **A commit is one SQLite transaction.** The usual one, new messages at the end of a branch, is
//!   a single statement; every other one holds the write lock from before its first decision to
//!   after its last write. A dropped future leaves all of a commit or nothing.
//! * **What is acknowledged survives the process** (`synchronous=NORMAL`, the default). With
//!   [`Durability::PowerLoss`](context_core::store::Durability::PowerLoss) (`synchronous=FULL`) it
//!   survives a loss of power as well; without, the newest commits may go with the power, but the
//!   file is never damaged.
//! * **Commits that wait together are written together**, as one transaction with one wait for the
//!   disk, if they are of the usual kind. Each is answered for itself.
//! * **Full-text search** ([`Store::search`](context_core::Store::search)) finds what was written
//!   as soon as it is written: the index is part of every commit. It costs about as much as all the
//!   rest of an append, so a file can be made without ([`full_text`](SqliteConfig::full_text)). A
//!   search costs what the user has written with these words, not what others have.
//! * **Blobs** ([`Store::blobs`](context_core::Store::blobs)) are in the same file, so that they
//!   are written, backed up and erased with the rest. A range is read without what is around it; a
//!   whole one is compared with its name.
//! * **Trajectories** ([`Store::trajectories`](context_core::Store::trajectories)) are rows that
//!   people can ask with plain SQL. A commit costs what is written, however large the round is; a
//!   range of rounds is read with one statement for each table.
//! * **Memories** ([`Store::memories`](context_core::Store::memories)) are found by words with BM25
//!   over counters, so that ranking is exact, and by vectors. A search looks at a bounded number of
//!   records, however many there are; one for a kind meets none of another kind, nor of another
//!   scope.
//! * **Damage is an error.** Every row that content is kept in has a checksum, which reading
//!   compares; a chain is compared with its branch's head, a list with how many were counted, the
//!   schema with what was made. [`Maintenance::check`](context_core::store::Maintenance::check)
//!   compares all of them.
//! * **A read is one state of the file.** Readers do not wait for the writer, nor it for them. A
//!   handle reads what it has written.
//! * **Cost.** An append costs the same in a chat of ten messages and of a million. A chain is read
//!   by one statement whose cost grows with the rows of up to 64 messages, not with messages; a
//!   window costs the window. A fork copies nothing.
//!
//! # Limits and deployment
//!
//! * The file lives on a local disk: write-ahead logging does not work over a network. Several
//!   processes of one machine may share it; a writer waits up to
//!   [`busy_timeout`](SqliteConfig::busy_timeout), then gets an `Unavailable` error that is safe to
//!   retry.
//! * [`backup`](context_core::store::Maintenance::backup) copies it while it is in use. A plain
//!   copy needs the `-wal` file beside it and nobody writing.
//! * Every connection is a thread: one that writes and up to [`readers`](SqliteConfig::readers)
//!   that read. Waiting for the disk or for another process never blocks a thread of the runtime.
//! * A file of a version without full text gets its index when it is opened, unless it is not
//!   wanted: every message is read once in one transaction, about a minute for a million, and the
//!   log grows by the size of the index.
//! * Words of what was changed or deleted are not found any more at once; their bytes leave the
//!   index in time, and with [`vacuum`](context_core::store::Maintenance::vacuum) and
//!   [`erase_user`](context_core::store::Maintenance::erase_user) for certain.
//! * [`Chat::updated_at`](context_core::store::Chat::updated_at) never goes backwards, whatever
//!   clocks say.
//!
//! # What is deleted
//!
//! * A deleted branch keeps what forks and checkpoints need of it, without a name; the rest goes,
//!   and what it forked from is looked at again.
//! * Redacting and [erasing](context_core::store::Maintenance::erase_user) overwrite what they free
//!   and empty the write-ahead log, as far as nobody reads an older state: a redaction then leaves
//!   that to later, erasing says so. Copies that earlier writes have left in unused pages are
//!   cleared by [`vacuum`](context_core::store::Maintenance::vacuum), which erasing includes. It
//!   needs as much room beside the file as the file takes.
//! * A blob goes with the last chat that refers to it, in the same transaction. What it took is
//!   used again; its bytes are cleared by [`vacuum`](context_core::store::Maintenance::vacuum) and
//!   by erasing.
//! * What is forgotten of memories is overwritten and taken out of the log at once, as a redaction
//!   is; copies that earlier writes have left are cleared by
//!   [`vacuum`](context_core::store::Maintenance::vacuum) and by erasing. The index of memories
//!   holds numbers that stand for words, never the words.
//! * Deleting costs what is deleted, whatever else is in the file. A chat of a million messages
//!   goes in a second, with full text in some more; other writers wait for it.
//!
//! # Opening and closing
//!
//! * A file is a store by its `application_id`, `0x6374786c` (the letters `ctxl`), or, if it is
//!   older than the id, by its tables. Any other file is refused with
//!   [`ErrorKind::Unsupported`](context_core::ErrorKind::Unsupported) and left byte for byte.
//! * A new store is made whole under another name, so that nobody ever opens half of one.
//! * With [`read_only`](SqliteConfig::read_only) nothing is written, not even `-wal` and `-shm`:
//!   also where the file or its folder cannot be written to, beside a process that writes, and
//!   beside a log that a killed one left. In one process open the handle that writes first: where
//!   there is a log, all handles of a process share one index of it, and one that was opened to be
//!   read is not written, so a handle to write is refused until they are closed.
//! * [`close`](context_core::Store::close) folds the log into the file, so that the file is all
//!   there is.
//!
//! # Upgrades
//!
//! * Schema versions only go forward. An older file is brought up to date when it is opened: every
//!   step that is due, in one transaction, so that it is done or was not begun. Of several
//!   processes one does it.
//! * A step adds to what is there and moves it; it never changes what a message says. Every release
//!   reads the files of all earlier ones, opened to write. There is no way back: make a
//!   [`backup`](context_core::store::Maintenance::backup) with the older program first, and stop
//!   it, since it does not know the new schema.
//! * A newer file is refused with [`ErrorKind::Unsupported`](context_core::ErrorKind::Unsupported)
//!   and not touched.
//!
//! # Layout
//!
//! A branch owns the messages that were written through it, numbered without a gap; the place of a
//! message is one integer of the branch's number and its own. A table of runs holds packed messages
//! by the place of the first. Single messages are merged into runs of 16 and then of 64 inside the
//! commit that fills the block, in SQL, so nothing travels. A fork notes the place it begins
//! behind. The files in `migrations` say more.
//!
//! Blobs are kept in pieces of 256 KiB, once for each user; a table says which chat refers to
//! which.
//!
//! A stream has a row for each chunk, numbered as messages are; an append is one transaction.
//!
//! A round has a row for what is known of it. Its nodes have a table for each kind, with a column
//! for each field: `trajectory_query`, `trajectory_state`, `trajectory_action`,
//! `trajectory_response`, `trajectory_knowledge`, `trajectory_tool`, `trajectory_table`,
//! `trajectory_column`, `trajectory_file`, `trajectory_script`, `trajectory_skill`; edges, earlier
//! versions and links to messages have one each. For people there is a view of each
//! (`trajectory_queries`, …, `trajectory_knowledge_items`, …, `trajectory_edges`,
//! `trajectory_versions`, `trajectory_messages`), and one of all nodes (`trajectory_nodes`), with
//! user, session, agent and round in front:
//!
//! ```sql
//! SELECT action, count(*), avg(measures ->> 'output_tokens') FROM trajectory_actions
//! WHERE user = 'ada' AND session = 'monday' AND NOT success GROUP BY action;
//! ```
//!
//! A memory has a row with its place, which orders them all, and its text as JSON. Words have
//! numbers, a table says in how many records of a kind and scope each is, and a second index of
//! FTS5 which records have a number: `migrations/0007_memories.sql`.
//!
//! The full-text index is a table of FTS5 that keeps no texts, only which words are at which place.
//! Each word begins with a tag of the user: `migrations/full_text.sql`,
//! `migrations/append_words.sql`.

mod access;
mod blobs;
mod calls;
mod check;
mod config;
mod connections;
mod create;
mod error;
mod file;
mod fragments;
mod history;
mod insert;
mod memories;
mod partial;
mod place;
mod rounds;
mod rows;
mod schema;
mod scope;
mod search;
mod sql;
mod store;
mod streams;
mod sums;
mod tally;
mod upkeep;

pub use config::SqliteConfig;
pub use store::SqliteStore;
