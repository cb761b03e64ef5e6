//! Types, traits and pure algorithms of the context layer.
//!
//! # Who depends on this crate
//!
//! Authors of stores, renderers, codecs and policies depend on this crate; applications depend on
//! the facade, `context-runtime`, which re-exports what they need. Nothing here does I/O, reads a
//! clock, draws a random number, spawns a task or holds a global.
//!
//! # The nouns
//!
//! * A [`Fragment`] is a named piece of context. Context fragments are rendered into the system
//!   prompt by a [`Renderer`]; message fragments become nodes of the message graph.
//! * A [`Message`] has a role and parts. A [`Node`] is a message with an id, a time and a stored
//!   body; a [`Chain`] is the nodes from a root to a head; [`graph`] has the algorithms.
//! * A [`codec`](CodecRegistry) turns fragments into what is stored and back.
//! * A [`ModelRequest`] is what a model is asked and an [`Answer`] what it says; a [`MessageCodec`]
//!   turns them into a provider's wire form and back, over [`normalize`], which makes any history
//!   one that providers take.
//! * A [`Store`] keeps it all: [`Commit`] is the one way in, [`HistoryStore::chain`] the main way
//!   out.
//! * An [`Error`] says what went wrong and whether to retry; a [`Diagnostic`] says what went well
//!   but should be known.
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
//! # Ok::<_, context_core::CodecError>(())
//! ```

mod boundary;
mod budget;
mod cancel;
mod chain;
mod chat_state;
pub mod checksum;
mod codec;
mod compaction;
mod diagnostic;
mod environment;
mod error;
mod fragment;
pub mod graph;
mod id;
mod json;
pub mod kinds;
pub mod limits;
mod memory;
mod message;
mod model;
mod node;
mod normalize;
pub mod pack;
mod recovery;
mod render;
mod runtime;
pub mod sealed;
pub mod search;
pub mod secrets;
pub mod shown;
mod store;
mod tokens;
pub mod trajectory;
pub mod wire;

pub use boundary::{
    BoundaryDraft, BoundaryStep, DraftError, FrontEntry, Replacement, Shown, StoredBoundary, shown,
};
pub use budget::{Budget, Pressure};
pub use cancel::{CancelSignal, CancelSource, Cancelled};
pub use chain::{Chain, PackedRun};
pub use chat_state::ChatState;
pub use codec::{
    BodyCodec, CodecError, CodecRegistry, Encoded, FragmentBody, FragmentCodec, MisfitError,
};
pub use compaction::{
    BoundaryKind, CHECKPOINT, CacheState, Compacted, CompactionPolicy, Edit, GAP, Goal,
    HistoryView, Plan, PlanError, Price, Proposal, Structure, SummaryError, SummaryTask, ToolNames,
    clean_cuts, pairs, shorten,
};
pub use diagnostic::{Diagnostic, DiagnosticCode, Severity};
pub use environment::{Clock, IdGenerator, Timestamp};
pub use error::{BoxError, Error, ErrorKind, Result, Retry, write_readable};
pub use fragment::{
    DEFAULT_LOAD_TIMEOUT, FRAGMENTS_SCHEMA, Fragment, FragmentContent, FragmentData, FragmentError,
    FragmentKind, FragmentList, FragmentMap, LazyData, LazyMessage, Loader, MAX_JSON_DEPTH,
    MAX_STREAM_ITEMS, Number, OnFailure, Reuse, assistant, fragment, hint, last_assistant_message,
    lazy, lazy_future, lazy_stream, role, user,
};
pub use id::{
    BranchName, ChatId, ChatRef, CheckpointName, CommitKey, FragmentId, MemoryId, MessageId,
    SessionId, StreamId, StreamWriter, UserId,
};
pub use json::{Json, JsonMap, JsonPatch, Metadata};
pub use memory::{
    CapturedMessage, CapturedTurn, MemoryProvider, MemoryScope, RecallQuery, Recalled,
    RecalledMemory,
};
pub use message::{
    Data, Media, MediaSource, Message, MessageHash, OpaqueBlock, Part, Reasoning, Role, Text,
    ToolCall, ToolInput, ToolResult,
};
pub use model::{
    Answer, AnswerDelta, AnswerStream, CacheMarks, EmbedAs, Embedder, FunctionTool, ImageLimits,
    LanguageModel, LiftedRequest, LoweredRequest, MessageCodec, ModelCodec, ModelError,
    ModelErrorCode, ModelRequest, NormalizedTools, OutputSchema, StopReason, Tool, ToolChoice,
    Usage,
};
pub use node::{Node, NodeKind, Placed};
pub use normalize::{HistoryRules, Normalized, Unanswered, normalize};
pub use recovery::{Attempt, Failure, RecoveryDecision, RecoveryPolicy};
pub use render::{Arrangement, Form, Piece, Pieces, RenderError, Renderer};
pub use runtime::{
    Boundary, Breakdown, CaptureTurnInput, ContextRuntime, ModelContext, PlanReport, Prefix,
    PrepareInput, RecoveryInput, ToolResultInput, ToolResultOutput,
};
pub use store::{
    AgentRef, AppendPlace, Blob, BlobId, BlobPrune, BlobStore, BlobsPruned, Branch, BranchDeletion,
    ChainEnd, Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary, CheckReport, Checkpoint, Commit,
    CommitOutcome, Committed, Created, Cursor, Durability, Erasure, Finding, ForkName,
    FragmentStore, HistoryStore, KeyOrder, Maintenance, MemoriesForgotten, MemoriesFound,
    MemoryExpected, MemoryFind, MemoryForget, MemoryHit, MemoryList, MemoryOutcome, MemoryRecord,
    MemoryRecordStore, MemorySource, MemoryStats, MemoryVector, MemoryWords, MemoryWrite,
    MemoryWritten, MessageNode, NewBlob, NewChat, Page, PageWalk, RecordOutcome, Revision,
    RoundCommit, RoundPrune, RoundQuery, RoundRef, RoundsPruned, SearchHit, SearchQuery,
    SearchScope, SearchStore, StateStore, Store, StoreInfo, StoredFragment, StoredMemory,
    StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamOutcome, StreamPart, StreamPrune,
    StreamState, StreamStore, StreamsPruned, Target, TrajectoryStore, Vacuumed, Window,
    check_chat_graph, check_memory_writes,
};
pub use tokens::{Framing, MediaKind, RequestTokens, Share, TokenCount, TokenCounter};
