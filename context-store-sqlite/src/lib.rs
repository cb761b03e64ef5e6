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
//! # Guarantees
//!
//! * **A commit is one SQLite transaction.** The common commit, new messages at the end of a
//!   branch, is a single statement. Every other commit holds the write lock from before its first
//!   decision until after its last write. If its future is dropped, either all of the commit is
//!   stored or none of it.
//! * **Acknowledged commits survive a crash of the process** (`synchronous=NORMAL`, the default).
//!   With [`Durability::PowerLoss`](context_core::store::Durability::PowerLoss)
//!   (`synchronous=FULL`) they also survive a loss of power. With the default, a loss of power may
//!   lose the newest commits, but it never damages the file. A single commit may
//!   [ask](context_core::store::Commit::durability) for either.
//! * **Group commit:** queued commits of the common kind are written together, in one transaction
//!   with one disk sync. Each caller gets its own result.
//! * **Full-text search** ([`Store::search`](context_core::Store::search)) finds a message as soon
//!   as its commit is acknowledged. An append notes that its messages are to be indexed. They are
//!   indexed many at a time: before a search, or in the background when there are 512. A handle
//!   that only reads compares those that are not indexed one by one. A file can be created without
//!   the index ([`full_text`](SqliteConfig::full_text)). The cost of a search depends on the
//!   messages of this user that contain the words, not on the data of other users.
//! * **Blobs** ([`Store::blobs`](context_core::Store::blobs)) are in the same file, so they are
//!   written, backed up and erased together with the chats. A range is read without the bytes
//!   around it. A read of a whole blob compares its bytes with its id.
//! * **Trajectories** ([`Store::trajectories`](context_core::Store::trajectories)) are rows that
//!   can be queried with plain SQL. The cost of a commit depends on what it writes, not on the size
//!   of the round. A range of rounds is read with one statement per table.
//! * **Memories** ([`Store::memories`](context_core::Store::memories)) are found by words and by
//!   vectors. Words are ranked by BM25 over stored counters, so the ranking is exact. A search
//!   reads a bounded number of records, however many are stored. A search for one kind does not
//!   read records of another kind or of another scope.
//! * **Damage is reported as an error.** Every row with content has a checksum that reads compare.
//!   A chain is compared with the head of its branch, a list with a stored count, and the schema
//!   with the expected one. [`Maintenance::check`](context_core::store::Maintenance::check)
//!   compares all of them.
//! * **A read sees one state of the file.** Readers and the writer do not wait for each other. A
//!   handle reads its own writes.
//! * **Cost.** An append costs the same in a chat of ten messages and in a chat of a million. A
//!   chain is read by one statement, whose cost grows with the number of rows, of up to 64 messages
//!   each. Reading a window costs only the window. A fork copies nothing.
//!
//! # Limits and deployment
//!
//! * The file must be on a local disk, because write-ahead logging does not work over a network.
//!   Several processes of one machine may share the file. A writer waits up to
//!   [`busy_timeout`](SqliteConfig::busy_timeout), then gets an `Unavailable` error that is safe to
//!   retry.
//! * [`backup`](context_core::store::Maintenance::backup) copies the file while it is in use. A
//!   plain copy must include the `-wal` file, and nobody may write meanwhile.
//! * Every connection is a thread: one that writes and up to [`readers`](SqliteConfig::readers)
//!   that read, and one more while streams are watched, which looks every 5 to 40 ms whether
//!   another handle has written. Waiting for the disk or for another process never blocks a thread
//!   of the runtime.
//! * A file of a version without full text gets its index when it is opened, unless the index is
//!   disabled. All messages are read in one transaction, which takes about a minute for a million
//!   messages and grows the log by the size of the index.
//! * Words of changed or deleted messages are not found any more at once. Their bytes may stay in
//!   the index for some time. [`vacuum`](context_core::store::Maintenance::vacuum) and
//!   [`erase_user`](context_core::store::Maintenance::erase_user) remove them for certain.
//! * [`Chat::updated_at`](context_core::store::Chat::updated_at) never goes backwards, even if the
//!   clock does.
//!
//! # Deletion
//!
//! * A deleted branch loses its name. The messages that forks and checkpoints need are kept, and
//!   the rest is deleted. The branch that it was forked from is then checked in the same way.
//! * Redacting and [erasing](context_core::store::Maintenance::erase_user) overwrite what they free
//!   and empty the write-ahead log. The log cannot be emptied while a reader uses an older state:
//!   redacting then leaves it to a later call, and erasing reports it. Copies that earlier writes
//!   left in unused pages are removed by [`vacuum`](context_core::store::Maintenance::vacuum),
//!   which erasing includes. `vacuum` needs as much free disk space as the file takes.
//! * A blob is deleted together with its last reference, in the same transaction. Its space is
//!   reused. Its bytes are cleared by [`vacuum`](context_core::store::Maintenance::vacuum) and by
//!   erasing.
//! * Forgotten memories are overwritten and removed from the log at once, as for a redaction.
//!   Copies that earlier writes left are removed by
//!   [`vacuum`](context_core::store::Maintenance::vacuum) and by erasing. The index of memories
//!   holds numbers that stand for words, never the words.
//! * The cost of a deletion depends on what is deleted, not on what else is in the file. Deleting a
//!   chat of a million messages takes about a second, and several seconds with full text. Other
//!   writers wait meanwhile.
//!
//! # Opening and closing
//!
//! * A file is recognized as a store by its `application_id`, `0x6374786c` (the letters `ctxl`),
//!   or, if the file is older than the id, by its tables. Any other file is refused with
//!   [`ErrorKind::Unsupported`](context_core::ErrorKind::Unsupported) and is not changed.
//! * A new store is created under a temporary name and renamed when it is complete, so nobody can
//!   open an incomplete one.
//! * With [`read_only`](SqliteConfig::read_only) nothing is written, not even `-wal` and `-shm`.
//!   This works for a file or folder without write permission, next to a process that writes, and
//!   with a log that a killed process left. Within one process, open the writing handle first: if
//!   there is a log, all handles of a process share one index of it, and an index that was opened
//!   for reading is never written. A writing handle is then refused until the reading handles are
//!   closed.
//! * [`close`](context_core::Store::close) moves the log into the file, so that the file alone
//!   holds the whole store.
//!
//! # Upgrades
//!
//! * Schema versions only go forward. An older file is upgraded when it is opened: all pending
//!   steps run in one transaction. If several processes open the file, one of them upgrades it.
//! * A step adds to the stored data and moves it, but never changes the content of a message. Every
//!   release can open the files of all earlier releases for writing. There is no downgrade: make a
//!   [`backup`](context_core::store::Maintenance::backup) with the older program first, and stop
//!   that program, because it does not know the new schema.
//! * A newer file is refused with [`ErrorKind::Unsupported`](context_core::ErrorKind::Unsupported)
//!   and is not changed.
//!
//! # Layout
//!
//! A branch owns the messages that were written through it, numbered without a gap. The place of a
//! message is one integer, made of the number of the branch and the number of the message. A table
//! of runs holds packed messages, keyed by the place of their first message. The newest messages,
//! up to what fits into a page of the file, are in the row of the branch together with their ids:
//! its tail. So an append rewrites one page. A tail that is full becomes a run, and runs are merged
//! into runs of 64 by the commit that fills the block, in SQL, so no message leaves the database.
//! Whatever names a message by its id or place, such as a fork or an amendment, makes the tails of
//! the chat runs first. A fork stores the place after which it begins. The files in `migrations`
//! have the details.
//!
//! Blobs are kept in pieces of 256 KiB, once per user. A table lists the references of chats to
//! blobs.
//!
//! A stream has one row per chunk, numbered like messages. An append is one transaction.
//!
//! A round has one row for its head. Each kind of node has its own table, with one column per
//! field: `trajectory_query`, `trajectory_state`, `trajectory_action`, `trajectory_response`,
//! `trajectory_knowledge`, `trajectory_tool`, `trajectory_table`, `trajectory_column`,
//! `trajectory_file`, `trajectory_script`, `trajectory_skill`. Edges, earlier versions and links to
//! messages have one table each. For queries by people, each table has a view
//! (`trajectory_queries`, …, `trajectory_knowledge_items`, …, `trajectory_edges`,
//! `trajectory_versions`, `trajectory_messages`), and one view shows all nodes
//! (`trajectory_nodes`). The first columns of each view are user, session, agent and round:
//!
//! ```sql
//! SELECT action, count(*), avg(measures ->> 'output_tokens') FROM trajectory_actions
//! WHERE user = 'ada' AND session = 'monday' AND NOT success GROUP BY action;
//! ```
//!
//! A memory has one row with its place, which orders all records, and its text as JSON. Each word
//! has a number. One table counts the records of a kind and scope that contain the word, and a
//! second FTS5 index finds the records by the number: `migrations/0007_memories.sql`.
//!
//! The full-text index of messages is an FTS5 table that stores no text, only the places of each
//! word. Each word begins with a tag of its user: `migrations/full_text.sql`,
//! `migrations/append.sql`.

mod blobs;
mod chat;
mod check;
mod checksums;
mod config;
mod connections;
mod counts;
mod error;
mod file;
mod fragments;
mod history;
mod leases;
mod maintenance;
mod memories;
mod rounds;
mod salvage;
mod schema;
mod search;
mod sql;
mod store;
mod streams;
mod values;
mod watches;

pub use config::SqliteConfig;
pub use salvage::salvage;
pub use store::SqliteStore;
