//! The PostgreSQL store of the context layer: one round trip per append, one per load.
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
//! # Guarantees
//!
//! * **A commit is one transaction.** The common commit, new messages at the end of a branch, is a
//!   single statement, which finds the chat, compares the head and writes. Every other commit locks
//!   the chat's row before its first decision. Writers of one chat run one after another, in the
//!   order in which the server grants the lock, and cannot deadlock. Dropping the future closes its
//!   connection: either all of the commit is stored or none of it.
//! * **Durability** depends on the settings of the server. [`info`](context_core::Store::info)
//!   reads `synchronous_commit`, `fsync` and `full_page_writes` when the store is opened, and warns
//!   if a loss of power may lose acknowledged commits. A single commit may
//!   [ask](context_core::store::Commit::durability) not to wait for the server's log, or to wait
//!   although `synchronous_commit` is off, without another round trip.
//! * **A read sees one state of the database.** A chain or a window of it is read by one statement,
//!   whose cost grows with the number of rows, of up to 64 messages each.
//! * **Blobs** ([`Store::blobs`](context_core::Store::blobs)) are stored once per user, in pieces
//!   of 256 KiB. They are deleted together with their last reference, in the same transaction.
//! * **Streams** ([`Store::streams`](context_core::Store::streams)): an append at the end of a
//!   stream is a single statement, and so is a read. A writer locks its stream and not the chat, so
//!   streaming answers and commits do not wait for each other.
//! * **Full-text search** ([`Store::search`](context_core::Store::search)) finds a message as soon
//!   as its commit is acknowledged, because the index is updated in the same transaction. A schema
//!   can be created without it ([`full_text`](PostgresConfig::full_text)). The cost of a search
//!   depends on the messages of this user that contain the words, not on the data of other users.
//! * **Trajectories** ([`Store::trajectories`](context_core::Store::trajectories)): a commit to a
//!   round is a single statement, which compares the revision and writes. Reading any number of
//!   rounds is a single statement too. The tables are described below.
//! * **Memories** ([`Store::memories`](context_core::Store::memories)): writers of one user run one
//!   after another, and a record is found as soon as it is written. The frequency of a word comes
//!   from stored counters, so it is exact in a scope of any size. Above
//!   [`EXACT_MEMORY_POSTINGS`](context_core::base::limits::EXACT_MEMORY_POSTINGS) a search reads up
//!   to 1,000 records that have all words, or half of the words, and so on down to two, then 2,000
//!   places of single words, the rarest first. Newer records come first in each case. The index
//!   holds hashes of 64 bits, not words.
//! * **Any text** may be an id, a name or a title, with any character in it, because these are
//!   stored as bytes. (For queries by hand, use `convert_from(id, 'UTF8')`.)
//! * [`Chat::updated_at`](context_core::store::Chat::updated_at) never goes backwards, even if the
//!   clock does.
//!
//! # Deployment
//!
//! * PostgreSQL 13 or later with a database in UTF-8. No extension is needed.
//!   [pgvector](PostgresConfig::pgvector) is used if it is available: vectors of memories are then
//!   compared in the server instead of being sent to the program. A missing database is created if
//!   the role may do so (`CREATEDB`). [`create_database(false)`](PostgresConfig::create_database)
//!   leaves that to the operator. Every store is a schema, and several stores may share a database.
//!   Statements name the schema, so no setting of a connection is changed.
//! * Any number of processes may use a store. A handle keeps up to
//!   [`connections`](PostgresConfig::connections) connections, or uses [a pool of the
//!   program](PostgresConfig::from_pool).
//! * Behind a pooler that may use another connection for each transaction, such as PgBouncer in
//!   transaction mode, set [`statement_cache`](PostgresConfig::statement_cache) to 0. No statement
//!   stays prepared then, and each runs in a transaction, which costs three more round trips per
//!   call; readers of streams poll. Nothing else depends on a connection: settings and locks are
//!   local to a transaction.
//! * Readers of streams are woken by `NOTIFY`. A handle that watches streams has one connection
//!   more than [`connections`](PostgresConfig::connections), also beside a pool of the program.
//!   Where `LISTEN` does not work, on a standby server, readers poll; the first one notices after a
//!   second.
//! * Calls that conflict with another transaction, or find the server gone or restarting, are
//!   [`Retry::Safe`](context_core::Retry::Safe). A call that takes longer than
//!   [`operation_timeout`](PostgresConfig::operation_timeout) returns an error of kind
//!   [`Timeout`](context_core::ErrorKind::Timeout). The server may still complete it, so repeat the
//!   call unchanged.
//! * The feature `tls` encrypts connections, with the certificates that the system trusts. Enable
//!   it with `sslmode=verify-full` in the URL.
//! * Backups are made with PostgreSQL's own tools (`pg_dump --schema`, `pg_basebackup`).
//!   [`backup`](context_core::store::Maintenance::backup) returns
//!   [`Unsupported`](context_core::ErrorKind::Unsupported).
//!
//! # Partitions
//!
//! [`partitions`](PostgresConfig::partitions) divides the tables that grow with messages (`run`,
//! `node`, `words`, `applied`, `blob_piece`) by a hash of the user. Everything of a turn is in one
//! partition of each. A partition is vacuumed, reindexed and rewritten alone, and can be moved to
//! another tablespace. A search, which finds messages of a user by their words, looks into the
//! index of each partition.
//!
//! The number of partitions is fixed when the schema is created: another number is another schema,
//! into which chats are copied. A store with `N` partitions holds 2³¹ / `N` chats, as many blobs
//! and as many branches; one more is an error of kind
//! [`Unavailable`](context_core::ErrorKind::Unavailable). `docs/scale.md` has measurements with and
//! without partitions.
//!
//! # Row-level security
//!
//! Every statement filters by user. With [`row_security`](PostgresConfig::row_security) the server
//! enforces this as well: each table has a policy that shows only the rows of the user whom the
//! setting `context.user_id` of the transaction names (in hexadecimal). A statement without the
//! filter then finds no rows of other users.
//!
//! Policies apply to every role except the owner of the tables and superusers. So one role opens
//! the store once, which makes it the owner, and runs the maintenance. Programs use another role,
//! which needs `USAGE` of the schema and `SELECT, INSERT, UPDATE, DELETE` on its tables, and opens
//! the store with [`create(false)`](PostgresConfig::create). Row-level security costs two or three
//! more round trips per call. A search then reads the words of all users, because PostgreSQL
//! evaluates the policy before the index. Finding memories reads all records of the requested
//! scopes, and no others.
//!
//! Views read with the rights of their owner, so the views of trajectories check themselves which
//! rows the current role may see.
//!
//! # Trajectories in plain SQL
//!
//! Each kind of node has a table with a column for each field of
//! [`TrajectoryNodeKind`](context_core::trajectory::TrajectoryNodeKind): `trajectory_query`,
//! `trajectory_state`, `trajectory_action` and so on, beside `trajectory_round`, `trajectory_edge`,
//! `trajectory_version` and `trajectory_message`. Queries by people use the views, which name the
//! user and the session in every row and show ids as text and times as timestamps:
//! `trajectory_queries`, `trajectory_states`, `trajectory_actions`, `trajectory_responses`,
//! `trajectory_knowledge_items`, `trajectory_tools`, `trajectory_tables`, `trajectory_columns`,
//! `trajectory_files`, `trajectory_scripts`, `trajectory_skills`; `trajectory_nodes` for all of
//! these; `trajectory_rounds`, `trajectory_edges`, `trajectory_versions`, `trajectory_messages`.
//!
//! ```sql
//! SELECT round, node, action, params->>'path' FROM context.trajectory_actions
//! WHERE user_id = 'ada' AND session = 'trip' AND agent = 0 AND NOT success;
//! ```
//!
//! PostgreSQL's text type holds no NUL, so a NUL is shown as U+2400. JSON with an escaped NUL or
//! half a surrogate pair cannot be queried, so these are shown as U+2400 or U+FFFD. Very deep JSON
//! is not shown. The store itself reads the exact value from a column that holds such rows in full.
//! The tables are for reading only: a row that is changed by hand may contradict that column or the
//! head of its round, which the [check](context_core::store::Maintenance::check) finds.
//!
//! # Deletion
//!
//! * A deleted branch loses its name. The messages that forks and checkpoints need are kept, and
//!   the rest is deleted. The branch that it was forked from is then checked in the same way.
//! * PostgreSQL keeps deleted rows until they are vacuumed.
//!   [Erasing](context_core::store::Maintenance::erase_user) vacuums, as far as no transaction uses
//!   an older state. [`vacuum`](context_core::store::Maintenance::vacuum) clears what is then left
//!   in free space by rewriting the tables, and locks one table after the other. Both need the
//!   owner's role. Write-ahead logs, replicas and backups are the operator's responsibility.
//!
//! # Upgrades
//!
//! * Schema versions only go forward. An older schema is upgraded when it is opened: all pending
//!   steps run in one transaction under a lock, so of several processes one upgrades it.
//! * A step adds to the stored data and moves it, but never changes the content of a message. There
//!   is no downgrade.
//! * Version 14 gives every value its checksum, which the program computes in the same transaction.
//! * Version 15 adds leases. A program that knows only version 14 and has the store open commits to
//!   chats in spite of a lease: stop such programs first.
//! * With [`read_only`](PostgresConfig::read_only) nothing is created or upgraded, and an older
//!   schema is refused.
//! * A schema that holds tables of another program is refused and not changed.
//! * A newer schema is refused with
//!   [`ErrorKind::Unsupported`](context_core::ErrorKind::Unsupported) and not changed.
//!
//! # Layout
//!
//! A branch owns the messages that were written through it, numbered without a gap. The place of a
//! message is one integer, made of the number of the branch and the number of the message. A table
//! of runs holds packed messages, uncompressed, keyed by the place of their first message. Single
//! messages are merged into runs of 16 and then of 64 by the statement that fills the block, so no
//! message leaves the database. A fork stores the place after which it begins and copies nothing.
//! The files in `migrations` have the details.

mod blobs;
mod chat;
mod check;
mod checksums;
mod config;
mod connections;
mod error;
mod fragments;
mod history;
mod leases;
mod maintenance;
mod memories;
mod rounds;
mod schema;
mod search;
mod sql;
mod store;
mod streams;
mod values;
mod watches;

pub use config::PostgresConfig;
pub use store::PostgresStore;
