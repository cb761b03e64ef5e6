//! Types, traits and the message graph of the context layer.
//!
//! Authors of stores, renderers, codecs and policies depend on this crate. Applications depend on
//! the facade, `context-runtime`, which re-exports the names they need. Nothing here does I/O,
//! reads a clock, draws a random number, spawns a task or holds a global.
//!
//! # The modules
//!
//! Each module uses only those above it, which `cargo xtask layers` checks. A type is reached by
//! its module; the names that every author needs are at the root.
//!
//! | module | holds |
//! |---|---|
//! | [`base`] | ids, time, errors, diagnostics, cancelling, JSON, limits |
//! | [`message`] | messages and their parts, nodes, chains, algorithms over the message graph |
//! | [`mod@fragment`] | fragments, their kinds and codecs, lazy data, the seam of renderers |
//! | [`model`] | requests, answers, errors of providers, token counts, the seam of wire codecs |
//! | [`history`] | views, plans and boundaries: how a history is cut; recovery decisions |
//! | [`memory`] | memory scopes and records, the seam of memory providers |
//! | [`trajectory`] | rounds of an agent: nodes, edges, records, changes |
//! | [`workspace`] | the seam of snapshots of the files that an agent works on |
//! | [`store`] | the seam of storage: commits, chats, search, blobs, streams, maintenance |
//! | [`runtime`] | the contract between an agent loop and what prepares its context |
//!
//! ```
//! use context_core::{CodecRegistry, FragmentData, fragment, hint, role};
//!
//! let guide = fragment("guide", [
//!     role("You book trips. Ask before you pay."),
//!     hint(FragmentData::list(["Prices are in EUR.", "Dates are ISO 8601."])),
//! ]);
//! let registry = CodecRegistry::default();
//! let stored = registry.encode(&guide)?;
//! assert_eq!(registry.decode(&stored)?, guide.persisted());
//! # Ok::<_, context_core::base::CodecError>(())
//! ```

pub mod base;
pub mod fragment;
pub mod history;
pub mod memory;
pub mod message;
pub mod model;
pub mod runtime;
pub mod store;
pub mod trajectory;
pub mod workspace;

pub use base::cancel::CancelSignal;
pub use base::diagnostic::Diagnostic;
pub use base::encoded::Encoded;
pub use base::environment::{Clock, IdGenerator, Timestamp};
pub use base::error::{BoxError, Error, ErrorKind, Result, Retry};
pub use base::id::{BranchName, ChatId, ChatRef, MessageId, SessionId, UserId};
pub use base::json::{Json, Metadata};
pub use base::json_string::JsonString;
pub use fragment::Fragment;
pub use fragment::build::{assistant, fragment, hint, role, user};
pub use fragment::codec::CodecRegistry;
pub use fragment::data::FragmentData;
pub use fragment::render::Renderer;
pub use history::compaction::policy::CompactionPolicy;
pub use memory::provider::MemoryProvider;
pub use message::chain::Chain;
pub use message::messages::Messages;
pub use message::node::Node;
pub use message::part::{Part, ToolCall, ToolResult};
pub use message::{Message, Role};
pub use model::answer::Answer;
pub use model::codec::MessageCodec;
pub use model::error::ModelError;
pub use model::request::ModelRequest;
pub use runtime::ContextRuntime;
pub use store::Store;
