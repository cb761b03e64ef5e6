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
//! Twenty things that people ask for stand as whole programs in `docs/cookbook.md`, compiled and run with the documentation of this crate.
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
//! | `memory` | [`memory`]: what was said, notes and facts come back | no |
//! | `memory-remote` | `memory::remote`: memories that another process keeps | no |
//! | `model-http` | [`model_http`]: language models and embedders over HTTP | no |
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
pub mod compaction;
mod engine;
pub mod fragments;
pub mod memory;
pub mod model;
mod policies;
mod recovery;
mod registry;
#[cfg(feature = "rescale")]
mod rescale;
mod retention;
mod runtime;
pub mod store;
pub mod streams;
mod system;
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
    BranchName, Breakdown, CancelSignal, CancelSource, CaptureTurnInput, ChatId, ChatRef, CheckpointName,
    Clock, ContextRuntime, Data, Diagnostic, DiagnosticCode, Error, ErrorKind, Fragment, FragmentContent,
    FragmentData, FragmentId, FunctionTool, IdGenerator, Json, JsonMap, JsonPatch, Media, MediaSource,
    Message, MessageId, Metadata, ModelContext, Number, OpaqueBlock, Part, PlanReport, Prefix, PrepareInput,
    Reasoning, RecoveryDecision, RecoveryInput, Renderer, Result, Retry, Role, Severity, Store, StreamId,
    Text, Timestamp, Tool, ToolCall, ToolInput, ToolResult, ToolResultInput, ToolResultOutput, UserId,
    assistant, fragment, graph, hint, kinds, last_assistant_message, lazy, lazy_future, lazy_stream, limits,
    role, search, user, wire,
};

#[cfg(feature = "instructions")]
pub use context_instructions as instructions;
#[cfg(feature = "model-http")]
pub use context_model_http as model_http;
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
pub use recovery::{
    Carried, CarryOutError, Contract, Recovered, RecoveryChain, raised_output, without_failed_answer,
};
pub use registry::open;
#[cfg(feature = "rescale")]
pub use rescale::ImageRescaler;
pub use retention::{Removal, RemovalReason, Retention};
pub use runtime::NullContextRuntime;
#[cfg(feature = "tokens")]
pub use runtime::{
    CARRIED_OVER, DefaultContextRuntime, DefaultContextRuntimeBuilder, LiveMedia, READ_SPILLED, RuntimeFault,
    RuntimeFaults, Spill, Spilled, SpilledRange, ToolResultLimits, materialize, spilled_output_tool,
};
pub use system::{SystemClock, Uuid7Ids};

/// The recipes of the cookbook are compiled and run.
#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../../docs/cookbook.md")]
struct Cookbook;

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
