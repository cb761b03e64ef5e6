//! The context layer for LLM agents: everything that goes into a model call, kept in a branching
//! history.
//!
//! Applications depend on this crate. Authors of stores, renderers, policies, memories and codecs
//! depend on `context-core` alone.
//!
//! This page is the whole facade in the order in which an agent meets it. Each thing is brought
//! once; what it can do besides, its own page says.
//!
//! # A chat
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
//! A [`ContextEngine`] is one chat of one user, worked on. Any number of them, in any number of
//! processes, may work on the same chat: a [`ConflictPolicy`] says what a save does when another
//! was first.
//!
//! # The prompt
//!
//! Everything that is set is a [`Fragment`]: a named piece of context. Messages become history, all
//! else becomes the system prompt, rendered as XML unless the builder is given another
//! [`Renderer`]. [`kinds`] has the standard ones, [`fragment`] makes one of your own, [`lazy`] data
//! is loaded when a prompt is made. `persisted` keeps a fragment with the chat, `untrusted` says
//! that somebody else wrote it.
//!
//! # A call of a model, and tools
//!
//! ```
//! use context_runtime::compaction::{microcompact, snip, truncate_head};
//! use context_runtime::{ContextEngine, DefaultContextRuntime, FunctionTool, ModelCall, Result, Store, provider};
//!
//! // One serves all users and chats: whose turn it is, each call says. Window, room for the answer and token counts come with the model.
//! fn runtime(store: std::sync::Arc<dyn Store>) -> Result<DefaultContextRuntime> {
//!     Ok(DefaultContextRuntime::builder()
//!         .model("claude-sonnet-4-5")
//!         .compaction([microcompact(), snip(), truncate_head()]) // gentle to harsh, when the window fills up
//!         .spill(store) // outputs of tools that are too large are kept here
//!         .build()?) // or everything that is wrong with it, at once
//! }
//!
//! async fn answer(
//!     chat: &mut ContextEngine,
//!     runtime: &DefaultContextRuntime,
//!     send: impl AsyncFn(&str) -> (u16, String), // your HTTP client
//! ) -> Result<()> {
//!     let weather = FunctionTool::new("weather", serde_json::json!({"type": "object"}));
//!     loop {
//!         let turn = chat.resolve().await?;
//!         let mut call = ModelCall::new(runtime, provider("anthropic")?, turn.prepare().tools([weather.clone()]));
//!         while let Some(request) = call.next(&turn).await? { // valid, inside the window, cache-friendly
//!             let (status, body) = send(request.body().as_str()).await;
//!             call.received(status, &body); // an overflow, a refused image, a busy provider: decided here
//!         }
//!         let answer = &chat.accept(&turn, &call).await?.message; // what was cut on the way stays cut
//!         let results: Vec<_> = answer.tool_calls().map(|call| call.result("18 °C")).collect();
//!         if results.is_empty() {
//!             break;
//!         }
//!         chat.set_tool_results(runtime, results).await?;
//!         chat.save().await?;
//!     }
//!     chat.save().await?;
//!     Ok(())
//! }
//! ```
//!
//! A [`DefaultContextRuntime`] prepares each call; a [`ModelCall`] drives one to its answer, or
//! says why there is none, after a stated number of tries. [`ModelCall::run`] asks a
//! [`LanguageModel`](model::LanguageModel), such as `model_http::HttpModel`, in the place of your
//! client. [`provider`] has the wire forms by name. Without the driver, the methods of
//! [`ContextRuntime`] do the same, one decision at a time.
//!
//! # The window
//!
//! When it fills up, the stages of [`compaction`] are asked in order; each cut is weighed against
//! the prompt cache it would break, told as a [`PlanReport`], kept as a boundary, and undone by
//! [`ContextEngine::undo_compaction`]. What a provider refuses all the same, a [`RecoveryChain`]
//! answers. Outputs of tools that are too large are kept as blobs ([`Spill`]) and read back in
//! parts by [`spilled_output_tool`].
//!
//! # Branches
//!
//! A chat is a tree; [`rewind`](ContextEngine::rewind) goes back to a message,
//! [`fork_here`](ContextEngine::fork_here) opens a branch by the way,
//! [`switch_branch`](ContextEngine::switch_branch) goes to another,
//! [`checkpoint`](ContextEngine::checkpoint) names a place and [`restore`](ContextEngine::restore)
//! goes back to it. [`ContextEngine::graph`] is all of it. [`Retention`] takes away what is old.
//!
//! # Memories, and what happened
//!
//! ```
//! # #[cfg(all(feature = "memory", feature = "trajectory"))]
//! # mod shown {
//! use std::fs::File;
//!
//! use context_runtime::memory::episodic;
//! use context_runtime::trajectory::{AgentRef, Trajectories, export::write_html};
//! use context_runtime::{ContextEngine, ContextRuntime, DefaultContextRuntime, Message};
//!
//! async fn remembered(chat: &mut ContextEngine, answer: &Message) -> Result<(), Box<dyn std::error::Error>> {
//!     let store = chat.store().clone();
//!     let runtime = DefaultContextRuntime::builder()
//!         .model("claude-sonnet-4-5")
//!         .memory(episodic(&store)?) // what was said comes back in later chats of the same user
//!         .build()?;
//!     runtime.capture_turn(chat.resolve().await?.capture()).await?; // at the end of each turn
//!     runtime.flush().await?; // at the end of the program
//!
//!     let trajectories = Trajectories::new(store)?;
//!     let round = trajectories.begin(&AgentRef::from(chat.chat_ref())).await?; // a round for each question
//!     round.ask("Two tickets to Lisbon on Friday, please.").await?; // durable when the call returns
//!     round.record(answer).await?; // answers, calls, results
//!     round.finish().await?;
//!     write_html(&trajectories.graph("ada", "lisbon").await?, File::create("lisbon.html")?)?;
//!     Ok(())
//! }
//! # }
//! ```
//!
//! Recall is a part of each prepared call: what is remembered stands behind what is stable, as data
//! with its source. [`memory`] has other providers (notes, facts, several in a chain),
//! [`trajectory`] the graph, its exports and its replay.
//!
//! # Other stores
//!
//! [`open`] takes a URL; another store is one feature and one URL. A
//! [`StoreRegistry`](store::StoreRegistry) adds yours. [`layers`] go over any of them, [`transfer`]
//! moves chats between them, [`streams`] keeps answers that are still on their way.
//!
//! # Testing an agent
//!
//! `mem:` is a store without a file; `clock` and `ids` of every builder take fixed ones.
//! `context_conformance::simulator` is a provider within the process, with the rules, window and
//! error wordings of a real one, and faults where you want them. `examples/agent` in the repository
//! is a whole agent tested with it.
//!
//! # Where names are
//!
//! | | |
//! |---|---|
//! | the root | what every agent needs: engine, runtime, call, fragments, messages, tools, errors |
//! | [`kinds`] | fragments of the standard kinds |
//! | [`model`] | requests, answers, errors and usage of models; the seams of models, embedders and counters |
//! | [`compaction`] | policies as stages, plans, boundaries |
//! | [`memory`] | memories: the seam, and with the feature the providers |
//! | [`trajectory`] | what happened in a run: recorder, graph, exports, replay |
//! | [`store`] | the seam of stores, and all that goes through it: chats, commits, searches, blobs |
//! | [`fragments`] | fragments beneath their builders: stored forms, kinds of your own |
//! | [`tokens`], [`instructions`], [`layers`], [`model_http`] | counts and prices; reminders and skills; stores over stores; clients over HTTP |
//! | [`removal`] | taking content back, with all that was made of it, and what still holds a copy |
//! | [`streams`], [`transfer`], [`search`], [`graph`], [`wire`], [`limits`] | answers in flight; copies and backups; queries; walks of the tree; JSON as it was written; every limit |
//! | [`anthropic`], [`openai`], [`gemini`], [`uimessage`], [`microcompact`], [`snip`], [`strip_images`], [`summarize`], [`truncate_head`] | the options of each codec and policy |
//!
//! Twenty things that people ask for stand as whole programs in `docs/cookbook.md`, compiled and
//! run with the documentation of this crate.
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
//! A feature only adds names; it never changes what other code does. This crate composes: what is
//! done to fragments and messages is in `context-core` and the plug-ins.

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
pub mod removal;
#[cfg(feature = "rescale")]
mod rescale;
mod retention;
mod runtime;
pub mod shown;
pub mod store;
pub mod streams;
mod system;
pub mod trajectory;
pub mod transfer;
#[cfg(feature = "tokens")]
mod waiting;

#[cfg(feature = "tokens")]
pub use call::{CallError, CallOptions, CallRequest, Conversation, ModelCall, Refusal};
pub use codecs::{PROVIDERS, message_codec, provider};
#[cfg(feature = "anthropic")]
pub use context_codec_anthropic as anthropic;
#[cfg(feature = "gemini")]
pub use context_codec_gemini as gemini;
pub use context_codec_kit::JsonPatch;
pub use context_codec_kit::wire;
#[cfg(feature = "openai")]
pub use context_codec_openai as openai;
#[cfg(feature = "uimessage")]
pub use context_codec_uimessage as uimessage;
pub use context_core::base::{
    CancelSource, CheckpointName, DiagnosticCode, FragmentId, JsonMap, Severity, StreamId, limits,
};
pub use context_core::fragment::{
    FragmentContent, Number, kinds, last_assistant_message, lazy, lazy_future, lazy_stream,
};
pub use context_core::history::{PlanReport, RecoveryDecision};
pub use context_core::message::{
    Data, Media, MediaSource, OpaqueBlock, Reasoning, Text, ToolInput, graph,
};
pub use context_core::model::{FunctionTool, Tool};
pub use context_core::runtime::{
    Breakdown, CaptureTurnInput, ModelContext, Prefix, PrepareInput, RecoveryInput,
    ToolResultInput, ToolResultOutput,
};
pub use context_core::{
    BranchName, CancelSignal, ChatId, ChatRef, Clock, ContextRuntime, Diagnostic, Error, ErrorKind,
    Fragment, FragmentData, IdGenerator, Json, Message, MessageId, Metadata, Part, Renderer,
    Result, Retry, Role, Store, Timestamp, ToolCall, ToolResult, UserId, assistant, fragment, hint,
    role, user,
};
pub use context_store_kit::search;

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
    BranchDiff, ChangeKind, CherryPicked, Compaction, ConflictPolicy, ContextEngine,
    ContextEngineBuilder, Edits, FragmentChange, MessageGraph, Moved, PromptChanges, PromptPiece,
    ResolveOptions, Resolved, SaveOutcome, Saved, SystemPrompt,
};
pub use recovery::{
    Carried, CarryOutError, Contract, Recovered, RecoveryChain, raised_output,
    without_failed_answer,
};
pub use registry::{open, open_read_only};
#[cfg(feature = "rescale")]
pub use rescale::ImageRescaler;
pub use retention::{Removal, RemovalReason, Retention};
pub use runtime::NullContextRuntime;
#[cfg(feature = "tokens")]
pub use runtime::{
    CARRIED_OVER, DefaultContextRuntime, DefaultContextRuntimeBuilder, LiveMedia, READ_SPILLED,
    RuntimeFault, RuntimeFaults, Spill, Spilled, SpilledRange, ToolResultLimits, materialize,
    spilled_output_tool,
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
    feature = "truncate-head",
    feature = "memory",
    feature = "trajectory"
))]
#[doc = include_str!("../../README.md")]
struct Readme;
