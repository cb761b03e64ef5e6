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
//! # Guarantees
//!
//! * **A commit is one script.** The common commit, new messages at the end of a branch, is one
//!   round trip that checks and writes. Every other commit reads the chat, decides, and applies the
//!   decision with a script that first checks whether the chat has changed. If it has, the decision
//!   is made again. If the future is dropped, either all of the commit is stored or none of it.
//! * **A chat is one key.** It expires, is evicted, moves within a cluster and is deleted as a
//!   whole, so a chat is never partly present. If a run of messages is missing nevertheless,
//!   reading returns [`Corrupt`](context_core::ErrorKind::Corrupt), never a shorter chain.
//! * **A read sees one state of the chat**: it is one command or script, or several reads whose
//!   versions are compared. A load, or an opened chat without fragments, is one plain command, or
//!   up to three if it is long and this handle has not read it before.
//! * **Durability** depends on the settings of the server, and
//!   [`Store::info`](context_core::Store::info) reports it. With `appendfsync always` commits
//!   survive a loss of power. With another append-only file they survive a crash. Without one they
//!   only survive the end of this process. With `appendfsync everysec` and version 7.2 or newer, a
//!   single commit may [ask](context_core::store::Commit::durability) to survive a loss of power:
//!   it then waits until the server has flushed it, up to a second. A failover may lose
//!   acknowledged writes with any setting, because replication is asynchronous.
//! * **A round of a trajectory is one key** as well. A commit to it is one script in one round
//!   trip. The rounds of an agent are read in one round trip, up to 256 at once. The rounds of a
//!   user are in one slot, so indexes and rounds change together.
//! * **A write of memories is one script** as well. All memories of a user are in one slot, so a
//!   record and all of its index entries appear and disappear together. A recall takes three round
//!   trips. Its ranking is exact as long as the words of the search have no more than 2,048 blocks
//!   of 1,024 places. That is about twenty words, however common, among 100,000 records, or two
//!   words among a million.
//! * **Cost.** An append costs the same in a chat of ten messages and in a chat of a million. A
//!   chain is read in runs of up to 64 messages. Reading a window costs only the window. A fork
//!   copies nothing. A listing reads the time of the last write of every chat of the user, so its
//!   cost grows with the number of the user's chats.
//!
//! # Limits
//!
//! * **No search**: [`Store::search`](context_core::Store::search) returns `None`. An index in the
//!   server's memory would cost more than the messages. Use another store for chats that must be
//!   searchable.
//! * **No backups and no vacuum**: the server has both, and the errors name its commands.
//!
//! # Servers
//!
//! * Redis 6.2 or newer, or a compatible server with hashes, sorted sets and scripts. No modules
//!   are needed.
//! * **Memory.** Set `maxmemory-policy noeviction`. Any other policy evicts whole chats when memory
//!   is full, and may evict the numbers that distinguish chats of the same name. A full server
//!   rejects writes, and no write is half done.
//! * **Clusters** (feature `cluster`). The keys of a chat are in one slot, the chats of a user in
//!   many. The rounds of a user are in one slot.
//! * **Encryption** (feature `tls`): `rediss://`, with the certificates that the system trusts.
//! * **Permissions.** `CONFIG GET` and `INFO` are sent when the store is opened. Without permission
//!   for them, the store assumes the weakest settings. `SCAN` is needed for checking, erasing and
//!   listing users, which read all keys of the server. Readers of streams are woken by `PUBLISH`
//!   and `SUBSCRIBE` on the channel `PREFIX{store}:streams` (`&PREFIX*` in an access list). Without
//!   permission to subscribe they poll. A writer without permission to publish wakes no reader of
//!   another handle: those find its chunks when they read anyway, after up to 30 seconds.
//! * **Time to live** ([`chat_ttl`](RedisConfig::chat_ttl)): every write restarts the time to live
//!   of the chat. The setting of the writing handle applies, and a handle without a time to live
//!   leaves the expiry unchanged. An expired chat leaves an entry in the list of its user, and its
//!   blobs. These are removed when the user's chats are listed, when blobs of all chats are pruned,
//!   and a few at a time when chats are created with a time to live. The remains of a user who
//!   never returns stay until the user is erased. A round of a trajectory expires by its own last
//!   write. Readers ignore its entries in the two indexes of its user. They are removed when the
//!   rounds are listed or pruned, a few whenever a round is begun, and all with the last round.
//!   Memories outlive the chats that they come from: they do not expire, and are removed when they
//!   are forgotten or their user is erased.
//! * A script blocks its server. Scripts that write 10,000 messages, delete a branch of a million,
//!   or write 1,000 memories of many words delay other clients. All calls of a handle share a
//!   connection, so a large read delays small ones. Open a second handle to read very large chats.
//!
//! # Opening read-only, foreign keys, upgrades
//!
//! * [`read_only`](RedisConfig::read_only) sends no command and no script that writes a key.
//! * Keys that begin with the prefix and a brace, without the number of a layout, belong to another
//!   program. Opening returns [`Unsupported`](context_core::ErrorKind::Unsupported), and the keys
//!   are not changed. The same holds for a newer layout.
//! * A store of an older layout, without checksums or leases, is upgraded when it is opened for
//!   writing. Stop older programs first: they cannot open the store any more. Those that have it
//!   open find no chats in it, and whatever they still create is not seen; if they only lack
//!   leases, they append to chats in spite of one.
//!
//! # Deletion
//!
//! * A deleted branch loses its name. The messages that forks and checkpoints need are kept, and
//!   the rest is deleted.
//! * Redacting and [erasing](context_core::store::Maintenance::erase_user) remove data from memory
//!   at once. The server's files keep it until they are rewritten (`BGREWRITEAOF`, `BGSAVE`), which
//!   a user of the store may not have permission to start.
//! * Erasing reads all keys of the store, so it also finds data that a list has lost. A mark
//!   without content, a number under a hash of the names, stays for an hour in place of each chat.
//! * A memory that is forgotten by its id or source leaves a mark of 16 bytes, so that capturing it
//!   again does not bring it back. Forgetting a whole scope leaves no marks. If all memories of a
//!   user are forgotten, the number of the last place stays until the user is erased.
//!
//! # Layout
//!
//! A chat is a hash. Its fields are listed at the top of `chat/fields.rs`. A branch owns the
//! messages that were written through it, its piece, numbered without a gap. Packed runs of them
//! are fields named after the number of the first message. Single messages are merged into runs of
//! 16 and then of 64 by the script that fills the block. A fork stores the place after which it
//! begins. Every write except a plain append changes the version of the chat, which writes compare.
//! Appends to one branch therefore do not prevent changes elsewhere in the chat.
//!
//! A round is a hash with a field for each node and for each change of a node, and a few fields for
//! its edges. The fields are listed at the top of `rounds/fields.rs`.
//!
//! Memories are five keys per scope: a hash of the records, a hash of their vectors, a hash of
//! lists of places by word, kind, key, source and vector, a hash of counters, and a set of marks.
//! They are listed at the top of `memories/fields.rs`.
//!
//! The list of a user's chats is in another slot than the chats, and no script reaches both. An
//! entry is written before its chat, and an entry without a chat is ignored. A call that finds such
//! an entry removes it, and leaves a mark in the slot of the chat, so that a concurrent creation
//! does not end up with a chat that is not listed.

mod blobs;
mod chat;
mod check;
mod checksums;
mod config;
mod connections;
mod error;
mod fragments;
mod history;
mod keys;
mod leases;
mod maintenance;
mod memories;
mod rounds;
mod schema;
mod scripts;
mod store;
mod streams;
mod values;

pub use config::RedisConfig;
pub use store::RedisStore;
