//! The context layer for LLM agents: everything that goes into a model call, kept in a branching history.
//!
//! # Who depends on this crate
//!
//! Applications. Authors of stores, renderers and codecs depend on `context-core` alone.
//!
//! # A chat in twenty lines
//!
//! ```
//! use context_runtime::{ContextEngine, assistant, hint, role, user};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> context_runtime::Result<()> {
//! let store = context_runtime::open("mem:").await?; // or sqlite:trips.db
//! let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
//!
//! chat.set([
//!     role("You book trips. Ask before you pay."),
//!     hint("Prices are in EUR."),
//!     user("Two tickets to Lisbon on Friday, please."),
//! ]);
//! let turn = chat.resolve().await?; // prompt and messages; writes nothing
//! println!("{}\n{} messages", turn.system_prompt, turn.messages.len());
//!
//! chat.set([assistant("Window or aisle?")]);
//! chat.save().await?; // one commit, or nothing
//!
//! let fork = chat.rewind(&turn.messages[0].id).await?; // a new branch; nothing is lost
//! println!("now on {}", fork.branch);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! | feature | brings | default |
//! |---|---|---|
//! | `inmem` | the store `mem:`, gone with the process | yes |
//! | `sqlite` | the store `sqlite:PATH` | yes |
//! | `postgres` | the store `postgres://…` | no |
//! | `redis` | the store `redis://…` | no |
//! | `redis-cluster` | the store `redis+cluster://…` | no |
//! | `tls` | encrypted connections to these servers | no |
//! | `layers` | [`layers`]: stores over stores, cached, traced, retried, split, encrypted | no |
//! | `xml` | `XmlRenderer` | yes |
//! | `markdown` | `MarkdownRenderer` | yes |
//! | `toml` | `TomlRenderer` | yes |
//! | `toon` | `ToonRenderer` | yes |
//! | `instructions` | [`instructions`]: reminders, skills, instruction files | yes |
//! | `openai` | the codecs of OpenAI's Chat Completions and Responses | yes |
//! | `anthropic` | the codec of Anthropic's Messages | yes |
//! | `gemini` | the codec of Gemini's generateContent | yes |
//! | `uimessage` | the codec of the AI SDK's UIMessage | yes |
//! | `tokens` | [`tokens`]: token counts, windows and prices | yes |
//! | `microcompact` | `Microcompact`: old results of tools are shortened | yes |
//! | `snip` | `Snip`: turns in the middle are left out | yes |
//! | `summarize` | `Summarize`: a rolling checkpoint stands for what was long ago | yes |
//! | `strip-images` | `StripImages`: media are taken out, oldest first | yes |
//! | `truncate-head` | `TruncateHead`: the newest part is kept | yes |
//! | `trajectory` | [`trajectory`]: what happened in runs of agents | yes |
//! | `otlp` | traces of trajectories, sent to a collector | no |
//! | `cache` | `ChainCache`: chains that engines share | no |
//! | `rescale` | `ImageRescaler`: images too large for a provider are scaled down | no |
//! | `full` | all of these | |
//!
//! A feature only adds names; it never changes what other code does. This crate composes: what is done to
//! fragments and messages is in `context-core` and the plug-ins.

#[cfg(feature = "tokens")]
mod call;
mod codecs;
mod engine;
mod policies;
mod recovery;
mod registry;
#[cfg(feature = "rescale")]
mod rescale;
mod retention;
mod runtime;
pub mod streams;
mod system;
#[cfg(feature = "trajectory")]
pub mod trajectory;
pub mod transfer;
#[cfg(feature = "tokens")]
mod waiting;

#[cfg(feature = "tokens")]
pub use call::{CallError, CallOptions, CallRequest, ModelCall, Refusal};
pub use codecs::{PROVIDERS, message_codec, provider};
#[cfg(feature = "anthropic")]
pub use context_codec_anthropic as anthropic;
#[cfg(feature = "gemini")]
pub use context_codec_gemini as gemini;
#[cfg(feature = "openai")]
pub use context_codec_openai as openai;
#[cfg(feature = "uimessage")]
pub use context_codec_uimessage as uimessage;
pub use context_core::{
    AgentRef, MessageNode, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundRef, RoundsPruned,
    SessionId, TrajectoryStore,
};
pub use context_core::{
    Answer, AnswerDelta, AnswerStream, CacheMarks, FunctionTool, HistoryRules, ImageLimits, LiftedRequest,
    LoweredRequest, MessageCodec, MessageHash, ModelCodec, ModelError, ModelErrorCode, ModelRequest,
    Normalized, OutputSchema, StopReason, TokenCount, TokenCounter, Tool, ToolChoice, Unanswered, Usage,
    normalize,
};
pub use context_core::{
    Arrangement, Branch, BranchDeletion, BranchName, CancelSignal, CancelSource, Chain, ChainEnd, Chat,
    ChatId, ChatPatch, ChatQuery, ChatRef, ChatSize, ChatState, ChatSummary, CheckReport, Checkpoint,
    CheckpointName, Clock, CodecError, CodecRegistry, Commit, CommitKey, CommitOutcome, Committed, Created,
    Cursor, DEFAULT_LOAD_TIMEOUT, Data, Diagnostic, DiagnosticCode, Durability, Encoded, Erasure, Error,
    ErrorKind, FRAGMENTS_SCHEMA, Finding, ForkName, Form, Fragment, FragmentBody, FragmentCodec,
    FragmentContent, FragmentData, FragmentError, FragmentId, FragmentKind, FragmentStore, HistoryStore,
    IdGenerator, Json, JsonMap, JsonPatch, LazyData, Loader, MAX_JSON_DEPTH, Maintenance, Media, MediaSource,
    Message, MessageId, Metadata, MisfitError, NewChat, Node, NodeKind, Number, OnFailure, OpaqueBlock, Page,
    Part, Piece, Pieces, Placed, Reasoning, RenderError, Renderer, Result, Retry, Reuse, Revision, Role,
    SearchHit, SearchQuery, SearchScope, SearchStore, Severity, Store, StoreInfo, StoredFragment,
    StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamId, StreamOutcome, StreamPart, StreamPrune,
    StreamState, StreamStore, StreamWriter, StreamsPruned, Target, Text, Timestamp, ToolCall, ToolInput,
    ToolResult, UserId, Vacuumed, Window, assistant, fragment, graph, hint, last_assistant_message, lazy,
    lazy_future, lazy_stream, limits, role, search, user,
};
pub use context_core::{
    Attempt, Blob, BlobId, BlobPrune, BlobStore, BlobsPruned, Boundary, BoundaryDraft, BoundaryKind,
    BoundaryStep, Breakdown, Budget, CHECKPOINT, CacheState, CaptureTurnInput, Compacted, CompactionPolicy,
    ContextRuntime, DraftError, Edit, Failure, FrontEntry, GAP, Goal, HistoryView, LanguageModel,
    ModelContext, NewBlob, Plan, PlanError, PlanReport, Prefix, PrepareInput, Pressure, Price, Proposal,
    RecoveryDecision, RecoveryInput, RecoveryPolicy, Replacement, Shown, StoredBoundary, Structure,
    SummaryError, SummaryTask, ToolNames, ToolResultInput, ToolResultOutput, shorten, shown,
};
/// Memories: the seam of providers, and that of the stores that keep their records.
pub use context_core::{
    CapturedMessage, CapturedTurn, EmbedAs, Embedder, MemoriesForgotten, MemoriesFound, MemoryExpected,
    MemoryFind, MemoryForget, MemoryHit, MemoryId, MemoryList, MemoryOutcome, MemoryProvider, MemoryRecord,
    MemoryRecordStore, MemoryScope, MemorySource, MemoryStats, MemoryVector, MemoryWrite, MemoryWritten,
    RecallQuery, Recalled, RecalledMemory, StoredMemory,
};
pub use context_core::{kinds, wire};
#[cfg(feature = "instructions")]
pub use context_instructions as instructions;
#[cfg(feature = "memory")]
pub use context_memory as memory;
#[cfg(feature = "microcompact")]
pub use context_policy_microcompact as microcompact;
#[cfg(feature = "snip")]
pub use context_policy_snip as snip;
#[cfg(feature = "strip-images")]
pub use context_policy_strip_images as strip_images;
#[cfg(feature = "summarize")]
pub use context_policy_summarize as summarize;
#[cfg(feature = "truncate-head")]
pub use context_policy_truncate_head as truncate_head;
#[cfg(feature = "markdown")]
pub use context_render::MarkdownRenderer;
#[cfg(feature = "toml")]
pub use context_render::TomlRenderer;
#[cfg(feature = "toon")]
pub use context_render::ToonRenderer;
#[cfg(feature = "xml")]
pub use context_render::XmlRenderer;
#[cfg(any(feature = "xml", feature = "markdown", feature = "toml", feature = "toon"))]
pub use context_render::{FORMATS, RenderOptions, by_name as renderer};
#[cfg(feature = "layers")]
pub use context_store_layers as layers;
#[cfg(feature = "tokens")]
pub use context_tokens as tokens;
#[cfg(feature = "cache")]
pub use engine::ChainCache;
pub use engine::{
    BranchDiff, ChangeKind, CherryPicked, Compaction, ConflictPolicy, ContextEngine, ContextEngineBuilder,
    Edits, FragmentChange, MessageGraph, Moved, PromptChanges, PromptPiece, ResolveOptions, Resolved,
    SaveOutcome, Saved, SystemPrompt,
};
pub use policies::{POLICIES, policy};
pub use recovery::{
    Carried, CarryOutError, Contract, Recovered, RecoveryChain, raised_output, without_failed_answer,
};
pub use registry::{StoreFactory, StoreRegistry, open};
#[cfg(feature = "rescale")]
pub use rescale::ImageRescaler;
pub use retention::{Removal, RemovalReason, Retention};
#[cfg(feature = "tokens")]
pub use runtime::{
    CARRIED_OVER, DefaultContextRuntime, DefaultContextRuntimeBuilder, LiveMedia, READ_SPILLED, RuntimeFault,
    RuntimeFaults, Spill, Spilled, SpilledRange, ToolResultLimits, materialize, spilled_output_tool,
};
pub use runtime::{NullContextRuntime, Pipeline, Planned, PlannedStep, Stage, StageFault, StageFaults};
pub use system::{SystemClock, Uuid7Ids};

/// The README's example is compiled and run.
#[cfg(all(
    doctest,
    feature = "inmem",
    feature = "xml",
    feature = "anthropic",
    feature = "tokens",
    feature = "microcompact",
    feature = "snip",
    feature = "truncate-head"
))]
#[doc = include_str!("../../README.md")]
struct Readme;
