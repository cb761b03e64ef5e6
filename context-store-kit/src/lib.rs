//! Parts that stores share: a chat as plain data, the words and ranking of full-text search, packed
//! runs of messages, and checksums.
//!
//! A store that keeps one value per chat implements [`StateStore`]. A store that keeps rows uses
//! the same decisions and forms one by one: [`decide_commit`] decides the outcome of a commit.
//!
//! | module | holds |
//! |---|---|
//! | [`search`] | words, folding, phrases, ranking, snippets |
//! | [`pack`] | many messages in one run of bytes, each with its checksum |
//! | [`checksum`] | checksums of other stored values, bound to their owner |
//! | [`salvage`] | the sound pieces of a damaged store, and what is lost |
//! | [`watch`] | the watches of streams, and how they are woken |

mod bounded_map;
mod call_queue;
mod chat_state;
mod check;
pub mod checksum;
mod commit;
mod memory_words;
pub mod pack;
pub mod salvage;
pub mod search;
mod state;
pub mod watch;
mod yielding;

pub use bounded_map::BoundedMap;
pub use call_queue::{AnswerOr, CallQueue, Fit, QueuedCall, answer_or};
pub use chat_state::ChatState;
pub use check::check_chat_graph;
pub use commit::{
    BranchHead, CommitDecision, CommitFacts, CommitPlan, PlainAppend, changes, decide_commit,
    is_known_by_key, named_messages, needs_chat, plain_append, seen_on,
};
pub use memory_words::MemoryWords;
pub use state::{StateBacked, StateStore};
pub use yielding::yield_now;
