//! The Redis store of the context layer: one script per commit, one key per chat.
//!
//! ```no_run
//! use context_core::{ChatRef, Store, Timestamp};
//! use context_core::store::NewChat;
//! use context_store_redis::{RedisConfig, RedisStore};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let store = RedisStore::open(RedisConfig::from_url("redis://localhost/?prefix=app:")?).await?;
//! let chat = NewChat::new(ChatRef::new("ada", "trip"), Timestamp::from_micros(1));
//! assert_eq!(store.history().create_chat(chat).await?.into_chat().active, "main");
//! # Ok::<_, context_core::Error>(())
//! # })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! * **A commit is one script.** The usual one, new messages at the end of a branch, is one round
//!   trip that checks and writes. Every other one is decided on after a look at the chat and
//!   applied by a script that first sees whether what was looked at still holds; if not, it is
//!   decided anew. A dropped future leaves all of a commit or nothing.
//! * **A chat is one key.** It expires, is evicted, moves within a cluster and is deleted whole:
//!   what is there of a chat is all of it. A run of messages that is missing all the same is
//!   [`Corrupt`](context_core::ErrorKind::Corrupt), never a shorter chain.
//! * **A read is one state of the chat**: a script, or looks that were compared.
//! * **What survives** is what the server is set up for, and
//!   [`Store::info`](context_core::Store::info) says it: with `appendfsync always` a loss of power;
//!   with another append-only file a crash; without one, only the end of this process. A failover
//!   may lose acknowledged writes, whatever is set: replication does not wait.
//! * **A round of a trajectory is one key** as well, and a commit to it is one script and one
//!   question. The rounds of an agent are read in one question, up to 256 at once; those of a user
//!   are in one place, so that indexes and rounds change together.
//! * **A write of memories is one script** as well: all that is remembered of a user is in one
//!   place, so a record comes under everything it is found by, or goes, at once. A recall asks
//!   three questions, and is exact as long as the words that are looked for have no more than 2,048
//!   blocks of 1,024 places: about twenty words however common among 100,000 records, two among a
//!   million.
//! * **Cost.** An append costs the same in a chat of ten messages and of a million. A chain is read
//!   in runs of up to 64 messages; a window costs the window. A fork copies nothing. A listing asks
//!   every chat of the user when it was written to, so it costs what the user has chats.
//!
//! # What it does not do
//!
//! * **No search**: [`Store::search`](context_core::Store::search) is none. An index in every
//!   server's memory would cost more than the messages; whoever needs it keeps the chats in a store
//!   that has it.
//! * **No backups and no vacuum**: the server has both, and the errors say which.
//!
//! # Servers
//!
//! * Redis 6.2 or newer, or what speaks like it: commands for hashes, sorted sets and scripts. No
//!   modules.
//! * **Memory.** Set `maxmemory-policy noeviction`: another one throws away whole chats when memory
//!   is full, and may throw away the numbers that tell chats of one name apart. A full server
//!   refuses writes, and nothing is half written.
//! * **Clusters** (feature `cluster`). The keys of a chat are in one slot, the chats of a user in
//!   many. The rounds of a user are in one.
//! * **Encryption** (feature `tls`): `rediss://`, with the certificates the system trusts.
//! * **Rights.** `CONFIG GET` and `INFO` are asked once; without them the least is assumed. `SCAN`
//!   is needed by checking, by erasing and by listing users, which look at all keys of the server.
//! * **Time to live** ([`chat_ttl`](RedisConfig::chat_ttl)): every write puts the end of the chat
//!   off. The handle that writes decides; one without a time to live leaves the end where it is.
//!   What an expired chat leaves in places of its user, an entry in a list and blobs, goes when the
//!   user's chats are listed, when blobs of all chats are pruned, and bit by bit when others are
//!   created with a time to live; of a user who never comes back it stays until the user is erased.
//!   A round of a trajectory expires by its own last write. Its entries in the two indexes of its
//!   user are none for who reads; they go when the rounds are listed or pruned, a few whenever one
//!   is begun, and with the last round. Memories outlive the chats they come from: they do not
//!   expire, and go when they are forgotten or their user is erased.
//! * A script runs alone on its server: one that writes 10,000 messages, or deletes a branch of a
//!   million, keeps others waiting, as does one that writes 1,000 memories of many words. All calls
//!   of a handle share a connection, so a large read keeps small ones behind it waiting: who reads
//!   very large chats opens a second handle for it.
//!
//! # Opening to read, foreign keys, upgrades
//!
//! * [`read_only`](RedisConfig::read_only) sends no command and no script that writes a key.
//! * Keys that begin with the prefix and a brace, without the number of a layout, are another
//!   program's: [`Unsupported`](context_core::ErrorKind::Unsupported), and left as they are. So is
//!   a newer layout.
//! * A store of the layout before, without checksums, is brought up to date when it is opened to
//!   write. Stop older programs before: they cannot open it any more and find no chat in it, but
//!   what one of them makes new is not seen.
//!
//! # What is deleted
//!
//! * A deleted branch keeps what forks and checkpoints need of it, without a name; the rest goes.
//! * Redacting and [erasing](context_core::store::Maintenance::erase_user) take what they remove
//!   out of memory at once. It leaves the server's files with their next rewriting (`BGREWRITEAOF`,
//!   `BGSAVE`), which a user of the store may not start.
//! * Erasing looks at all keys of the store, so that nothing is left that a list forgot. A mark
//!   without content, a number under a hash of the names, stays for an hour where a chat was.
//! * A memory that is forgotten by its name or source leaves a mark of 16 bytes, so that capturing
//!   it again does not bring it back; a scope that is forgotten leaves none. Of a user of whom all
//!   is forgotten, the number of the last place stays, until they are erased.
//!
//! # Layout
//!
//! A chat is a hash; its fields are listed at the top of `fields.rs`. A branch owns the messages
//! that were written through it, its piece, numbered without a gap; packed runs of them are fields
//! by the number of the first. Single messages are merged into runs of 16 and then of 64 by the
//! script that fills the block. A fork notes the place it begins behind. The version that writes
//! compare is another one after everything but a plain append, so appends of one branch do not keep
//! changes elsewhere from being made.
//!
//! A round is a hash with a field for each node and for each change of one, and its edges in a few;
//! its fields are listed at the top of `round_fields.rs`.
//!
//! Memories are five keys for each scope: a hash of the records, one of their vectors, one of the
//! lists of places in which they are found by their words, kind, key, source and vector, one of
//! counts, and a set of marks. They are listed at the top of `memory_names.rs`.
//!
//! The list of a user's chats is in another place than the chats, and no script reaches both: an
//! entry is written before its chat, an entry without a chat is none, and who finds one sweeps it,
//! with a mark at the chat's place so that no creation under way ends up unlisted.

mod blobs;
mod check;
mod config;
mod connection;
mod error;
mod fragments;
mod history;
mod keys;
mod layout;
mod memories;
mod reply;
mod rounds;
mod scripts;
mod seals;
mod server;
mod shared;
mod store;
mod streams;
mod upgrade;
mod upkeep;

pub use config::RedisConfig;
pub use store::RedisStore;
