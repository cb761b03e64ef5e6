//! The PostgreSQL store of the context layer: one round trip to append, one to load.
//!
//! ```no_run
//! use context_core::{ChatRef, Store, Timestamp};
//! use context_core::store::NewChat;
//! use context_store_postgres::{PostgresConfig, PostgresStore};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let config = PostgresConfig::from_url("postgres://ada@localhost/chats")?.schema("context").connections(8);
//! let store = PostgresStore::open(config).await?;
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
//! * **A commit is one transaction.** The usual one, new messages at the end of a branch, is a
//!   single statement, which finds the chat, compares the head and writes; every other one locks
//!   the chat's row before its first decision. Writers of one chat come one after another, in the
//!   order the server gives them the lock; they never wait for each other in a circle. A dropped
//!   future closes its connection: all of the commit is there, or nothing.
//! * **What is acknowledged survives** what the server's settings say:
//!   [`info`](context_core::Store::info) reads `synchronous_commit`, `fsync` and `full_page_writes`
//!   when the store is opened, and warns if a loss of power may take something.
//! * **A read is one state of the database.** A chain, whole or a window of it, is read by one
//!   statement, whose cost grows with the rows of up to 64 messages each, not with messages.
//! * **Blobs** ([`Store::blobs`](context_core::Store::blobs)) are kept once for each user, in
//!   pieces of 256 KiB, and go with the last chat that refers to them, in the same transaction.
//! * **Streams** ([`Store::streams`](context_core::Store::streams)): an append at its place is a
//!   single statement, and so is reading on. A writer locks its stream and not the chat, so answers
//!   in flight and commits do not wait for each other.
//! * **Full-text search** ([`Store::search`](context_core::Store::search)) finds what was written
//!   as soon as it is written: the index is part of every commit. A schema can be made without
//!   ([`full_text`](PostgresConfig::full_text)). A search costs what the user has written with
//!   these words, not what others have.
//! * **Trajectories** ([`Store::trajectories`](context_core::Store::trajectories)): a commit to a
//!   round is a single statement, which compares the revision and writes, and so is reading any
//!   number of rounds. See below for the tables.
//! * **Memories** ([`Store::memories`](context_core::Store::memories)): writers of one user come
//!   one after another, and what is written is found at once. How rare a word is comes from
//!   counters, so it is exact in a scope of any size. Above
//!   [`EXACT_MEMORY_POSTINGS`](context_core::base::limits::EXACT_MEMORY_POSTINGS) a search reads up
//!   to 1,000 records that have all words, or half of them, and so on until there are two, then
//!   2,000 places of single words, the rarest first, always the newest first. The index holds
//!   hashes of 64 bits, not words.
//! * **Any text** may be an id, a name or a title, with any character in it: they are kept as
//!   bytes. (By hand, read them with `convert_from(id, 'UTF8')`.)
//! * [`Chat::updated_at`](context_core::store::Chat::updated_at) never goes backwards, whatever
//!   clocks say.
//!
//! # Deployment
//!
//! * PostgreSQL 13 or later, a database in UTF-8. No extension is needed;
//!   [pgvector](PostgresConfig::pgvector) is used where there is one: then vectors of memories do
//!   not travel to be compared. If there is no database of the name, it is made, where the role may
//!   make one (`CREATEDB`); [`create_database(false)`](PostgresConfig::create_database) leaves that
//!   to the operator. Every store is a schema; several stores may share a database. Statements name
//!   the schema, so no connection's settings are touched.
//! * Any number of processes may use a store. A handle keeps up to
//!   [`connections`](PostgresConfig::connections) connections, or uses [a pool of the
//!   program's](PostgresConfig::from_pool).
//! * Behind PgBouncer in transaction mode, set [`statement_cache`](PostgresConfig::statement_cache)
//!   to 0, or use version 1.21 or later with `max_prepared_statements`. Nothing else depends on a
//!   connection: settings and locks are those of a transaction.
//! * Calls that lose to another transaction, or find the server gone or restarting, are
//!   [`Retry::Safe`](context_core::Retry::Safe). One that takes longer than
//!   [`operation_timeout`](PostgresConfig::operation_timeout) is an error of kind
//!   [`Timeout`](context_core::ErrorKind::Timeout); the server may still finish what it was doing,
//!   so repeat it as it is.
//! * The feature `tls` encrypts connections, with the certificates that the system trusts; ask for
//!   it with `sslmode=verify-full` in the URL.
//! * Backups are made with PostgreSQL's own tools (`pg_dump --schema`, `pg_basebackup`);
//!   [`backup`](context_core::store::Maintenance::backup) is
//!   [`Unsupported`](context_core::ErrorKind::Unsupported).
//!
//! # Row-level security
//!
//! Every statement asks for the rows of one user. With
//! [`row_security`](PostgresConfig::row_security) the server sees to it as well: each table has a
//! policy that shows only rows of the user whom the setting `context.user_id` of the transaction
//! names (in hexadecimal), so a statement that forgets to ask finds nothing of others.
//!
//! Policies hold for every role but the owner of the tables and superusers. So one role opens the
//! store once and thereby owns it, and does upkeep; programs use another, which needs `USAGE` of
//! the schema and `SELECT, INSERT, UPDATE, DELETE` on its tables, and opens with
//! [`create(false)`](PostgresConfig::create). It costs two or three more round trips per call, and
//! a search reads the words of all users, because PostgreSQL asks the policy before the index.
//! Finding memories reads all of the scopes that are asked for, and no others.
//!
//! Views read with the rights of their owner, so those of trajectories ask themselves which rows
//! whoever reads them may see.
//!
//! # Trajectories in plain SQL
//!
//! Each kind of nodes has a table with a column for each field
//! ([`NodeKind::fields`](context_core::trajectory::NodeKind::fields)): `trajectory_query`,
//! `trajectory_state`, `trajectory_action` and so on, beside `trajectory_round`, `trajectory_edge`,
//! `trajectory_version` and `trajectory_message`. People use the views, which say in every row
//! whose it is, show ids as text and times as times: `trajectory_queries`, `trajectory_states`,
//! `trajectory_actions`, `trajectory_responses`, `trajectory_knowledge_items`, `trajectory_tools`,
//! `trajectory_tables`, `trajectory_columns`, `trajectory_files`, `trajectory_scripts`,
//! `trajectory_skills`; `trajectory_nodes` for all of these; `trajectory_rounds`,
//! `trajectory_edges`, `trajectory_versions`, `trajectory_messages`.
//!
//! ```sql
//! SELECT round, node, action, params->>'path' FROM context.trajectory_actions
//! WHERE user_id = 'ada' AND session = 'trip' AND agent = 0 AND NOT success;
//! ```
//!
//! PostgreSQL's texts hold no NUL, which is shown as U+2400; its JSON cannot be looked into if it
//! holds an escaped NUL or half a surrogate pair, which is shown as U+2400 or U+FFFD, or is very
//! deep, which is not shown. The store itself reads what was written, from a column that holds such
//! rows whole. The tables are for reading: a row that is changed by hand may contradict that
//! column, or the head of its round, which the [check](context_core::store::Maintenance::check)
//! finds.
//!
//! # What is deleted
//!
//! * A deleted branch keeps what forks and checkpoints need of it, without a name; the rest goes,
//!   and what it forked from is looked at again.
//! * PostgreSQL keeps deleted rows until they are vacuumed.
//!   [Erasing](context_core::store::Maintenance::erase_user) vacuums, as far as nobody reads an
//!   older state; what is then left in free space,
//!   [`vacuum`](context_core::store::Maintenance::vacuum) clears by writing the tables anew, for
//!   which it locks one after the other. Both need the owner's role. Write-ahead logs, replicas and
//!   backups are the operator's.
//!
//! # Upgrades
//!
//! * Schema versions only go forward. An older schema is brought up to date when it is opened:
//!   every step that is due, in one transaction, under a lock, so of several processes one does it.
//! * A step adds to what is there and moves it; it never changes what a message says. There is no
//!   way back.
//! * Version 14 gives every value its checksum, in the program and in the same transaction.
//! * With [`read_only`](PostgresConfig::read_only) nothing is made or brought up to date; an older
//!   schema is refused then.
//! * A schema that holds tables of another program is refused and left as it is.
//! * A newer schema is refused with
//!   [`ErrorKind::Unsupported`](context_core::ErrorKind::Unsupported) and not touched.
//!
//! # Layout
//!
//! A branch owns the messages that were written through it, numbered without a gap; the place of a
//! message is one integer of the branch's number and its own. A table of runs holds packed messages
//! by the place of the first, uncompressed. Single messages are merged into runs of 16 and then of
//! 64 by the statement that fills the block, so nothing travels. A fork notes the place it begins
//! behind and copies nothing. The files in `migrations` say more.

mod blobs;
mod check;
mod config;
mod database;
mod error;
mod fragments;
mod history;
mod memories;
mod migrations;
mod place;
mod pool;
mod rounds;
mod rows;
mod schema;
mod scope;
mod seals;
mod search;
mod shown;
mod sql;
mod store;
mod streams;
mod upgrade;
mod upkeep;

pub use config::PostgresConfig;
pub use store::PostgresStore;
