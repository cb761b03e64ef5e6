//! The context layer for LLM agents. It turns fragments and a branching message history into the
//! prompt and messages of each model call.
//!
//! Applications depend on this crate. Authors of stores, renderers, policies, memory providers and
//! codecs depend on `context-core` alone.
//!
//! This page introduces the public API in the order in which an agent needs it. The page of each
//! type describes its further methods and options.
//!
//! # An agent
//!
//! ```
//! # #[cfg(feature = "agents")]
//! # mod shown {
//! use context_runtime::{Agents, Result, ToolFunction, role};
//!
//! async fn answer(question: &str, tools: [ToolFunction; 3]) -> Result<()> {
//!     let agents = Agents::open("sqlite:trips.db").await?.model("claude-sonnet-4-5").build()?;
//!     let mut chat = agents.chat("ada", "lisbon").await?;
//!     chat.set([role("You book trips. Ask before you pay.")]);
//!     let answer = chat.ask(question).tools(tools).on_text(|piece| print!("{piece}")).await?;
//!     println!("\n{}", answer.report);
//!     agents.shutdown().await
//! }
//! # }
//! ```
//!
//! [`Agents`] hold what the chats of a program share: store, runtime, provider, recorder. An
//! [`AgentChat`] is a chat of one user. [`AgentChat::ask`] is the whole loop: it asks the model,
//! runs [tools](ToolFunction), streams, and returns the [answer](TurnAnswer). [`AgentChat::turn`]
//! is the same [`Turn`] for programs with their own client and loop. A turn stores and records each
//! step, is [bounded](TurnLimits), and ends in one order, however it ends.
//!
//! The rest of this page is the layer below, which a turn composes and a program can use alone.
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
//! A [`ContextEngine`] is a handle on one chat of one user. Any number of engines, in any number of
//! processes, may work on the same chat. A [`ConflictPolicy`] says what a save does when another
//! writer has moved the branch. A history that a client sent goes through a [sanitizer](sanitize)
//! first, which removes what a client cannot have made.
//!
//! # The prompt
//!
//! An application sets [`Fragment`]s: named pieces of context. Messages become history. All other
//! fragments become the system prompt, rendered as XML unless the builder is given another
//! [`Renderer`]. [`kinds`] has the standard fragments, [`fragment()`] makes a fragment with a name of
//! your own, and [`lazy`] loads data when a prompt is made. `persisted` stores a fragment with the
//! chat. `untrusted` marks content of another author.
//!
//! # Model calls and tools
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
//!         while let Some(request) = call.next().await? { // valid, inside the window, cache-friendly
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
//! A [`DefaultContextRuntime`] prepares each call. A [`ModelCall`] drives one call to its answer,
//! or reports why there is none after a stated number of tries. [`ModelCall::run`] sends the
//! requests through a [`LanguageModel`](model::LanguageModel), such as `model_http::HttpModel`,
//! instead of your client. [`provider`] returns a wire format by name. Without [`ModelCall`], the
//! methods of [`ContextRuntime`] make the same decisions one at a time.
//!
//! # The window
//!
//! When the window fills up, the stages of [`compaction`] run in order. Each cut is weighed against
//! the prompt cache it would invalidate, reported as a [`PlanReport`], saved as a boundary, and
//! undone by [`ContextEngine::undo_compaction`]. If the provider refuses a request all the same, a
//! [`RecoveryChain`] decides what to do. Tool outputs that are too large are stored as blobs
//! ([`Spill`]) and read back in parts by [`spilled_output_tool`].
//!
//! # Branches
//!
//! A chat is a tree. [`rewind`](ContextEngine::rewind) goes back to a message,
//! [`fork_here`](ContextEngine::fork_here) opens a branch without leaving the current one,
//! [`switch_branch`](ContextEngine::switch_branch) changes to another branch,
//! [`checkpoint`](ContextEngine::checkpoint) names a position and
//! [`restore`](ContextEngine::restore) goes back to it. [`ContextEngine::graph`] returns the whole
//! tree, and [`MessageGraph::draw`] draws it. [`Retention`] removes old content. With a
//! [`workspace`], the files that an agent changed go back together with the conversation.
//!
//! # Memories and trajectories
//!
//! ```
//! # #[cfg(all(feature = "memory", feature = "trajectory"))]
//! # mod shown {
//! use std::fs::File;
//!
//! use context_runtime::memory::episodic;
//! use context_runtime::trajectory::{AgentRef, Trajectories, export::write_mermaid};
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
//!     let graph = trajectories.graph("ada", "lisbon").await?;
//!     write_mermaid(&graph, &Default::default(), File::create("lisbon.mmd")?)?;
//!     Ok(())
//! }
//! # }
//! ```
//!
//! Recall is part of each prepared call: recalled memories stand behind the stable prefix, as data
//! with their source, and [`RecallPlace`] has other places. [`memory`] has other providers (notes,
//! facts, several in a chain). [`trajectory`] has the graph of a run, its exports and its replay.
//!
//! # Other stores
//!
//! [`open`] takes a URL; each further backend is one feature and one URL scheme. A
//! [`StoreRegistry`](store::StoreRegistry) adds your own. [`layers`] wrap any store, [`transfer`]
//! moves chats between stores, and [`streams`] keeps answers that are still being received.
//!
//! # Observing
//!
//! Each step is a span of `tracing` with the target `context`. Names follow OpenTelemetry's
//! conventions for generative AI where there are any. No span holds content or a user.
//!
//! | span | is | fields besides `gen_ai.conversation.id` |
//! |---|---|---|
//! | `context.resolve` | building prompt and messages | |
//! | `context.save` | one commit | |
//! | `context.prepare` | preparing a request | |
//! | `context.recall` | asking the memory | |
//! | `context.compact` | running the compaction stages | |
//! | `context.recover` | deciding about a refusal or a broken answer | |
//! | `context.capture` | handing a turn to the memory | |
//! | `chat` | a call of a `LanguageModel` | `gen_ai.operation.name`, `gen_ai.provider.name`, `gen_ai.request.model`, `gen_ai.usage.input_tokens`, `gen_ai.usage.output_tokens`, `gen_ai.usage.cache_read.input_tokens`, `otel.name`, `otel.kind` |
//! | `execute_tool` | a tool that a turn runs | `gen_ai.operation.name`, `gen_ai.tool.name`, `gen_ai.tool.call.id`, `otel.name` |
//!
//! Programs observe the same steps as [events](TurnEvent): an [`Observer`] is told of turns, calls,
//! tools, cuts, recoveries, spilled outputs, recalls and captures, and is asked before each
//! compaction. It is registered once, with [`AgentsBuilder::observer`], or with `observer` of a
//! runtime's builder and of [`ModelCall`] for those who own their loop. `OtelMetrics` is an
//! observer that records metrics through OpenTelemetry, without a user or a chat:
//!
//! | instrument | is | kind | unit | attributes |
//! |---|---|---|---|---|
//! | `gen_ai.client.token.usage` | tokens of input and output of a call | histogram | `{token}` | `gen_ai.operation.name`, `gen_ai.provider.name`, `gen_ai.request.model`, `gen_ai.token.type` |
//! | `gen_ai.client.operation.duration` | time of a call, with summaries and refused ones | histogram | `s` | `gen_ai.operation.name`, `gen_ai.provider.name`, `gen_ai.request.model`, `error.type` |
//! | `context.token.cache_read` | tokens of input read from the prompt cache | counter | `{token}` | `gen_ai.operation.name`, `gen_ai.provider.name`, `gen_ai.request.model` |
//! | `context.cost` | cost of calls whose price is known | counter | `{USD}` | `gen_ai.operation.name`, `gen_ai.provider.name`, `gen_ai.request.model` |
//! | `context.tool.duration` | time of a tool that a turn runs | histogram | `s` | `gen_ai.tool.name`, `error.type` |
//! | `context.cuts` | plans that cut a history | counter | `{cut}` | `context.policy` |
//! | `context.recoveries` | decisions about refusals and broken answers | counter | `{recovery}` | `context.decision`, `error.type` |
//! | `context.spilled` | bytes of outputs stored as blobs | counter | `By` | |
//!
//! [`ContextEngine::inspect`] returns what an engine holds and would send, for people or as JSON.
//! `TracedStore` of [`layers`] adds a span for each call of the store. Recorded trajectories are
//! exported as OTLP traces by [`trajectory::export`].
//!
//! # Testing an agent
//!
//! `mem:` is a store without a file. The `clock` and `ids` methods of every builder accept fixed
//! ones, so that runs are deterministic. `context_simulator` is an in-process provider with the
//! rules, window and error messages of a real one, and with fault injection.
//! `examples/agent` in the repository is a complete agent tested with it.
//!
//! # Where names are
//!
//! | | |
//! |---|---|
//! | the root | names that every agent needs: agents, turns, engine, runtime, call, fragments, messages, tools, errors |
//! | [`kinds`] | fragments of the standard kinds |
//! | [`model`] | requests, answers, errors and usage of models; the traits of models, embedders and counters |
//! | [`compaction`] | policies as stages, plans, boundaries |
//! | [`memory`] | memory: the traits, and the providers with the feature |
//! | [`trajectory`] | the record of a run: recorder, graph, exports, replay |
//! | [`store`] | the store traits and their data: chats, commits, searches, blobs |
//! | [`fragments`] | fragments below the builders: stored forms, custom kinds |
//! | [`tokens`], [`instructions`], [`layers`], [`object`], [`model_http`] | counts and prices; reminders and skills; stores that wrap stores; blobs in services of objects; HTTP clients |
//! | [`provider_rules`] | whether a provider accepts a body or a request |
//! | [`secrets`] | finding and masking secrets |
//! | [`transcript`] | files of other programs: Claude Code, Codex, Gemini CLI, Pi, opencode, OpenHands, ChatGPT, Claude.ai, Pydantic AI, goose, llm, SWE-agent, ToolBench, lists of messages |
//! | [`provenance`] | the messages from which the data in an answer came |
//! | [`sent`] | the requests of a chat, recomputed, with the reason for each piece |
//! | [`removal`] | removing content with everything derived from it, and finding the copies that remain |
//! | [`workspace`] | snapshots of the files that an agent works on |
//! | [`streams`], [`transfer`], [`search`], [`graph`], [`wire`], [`limits`] | answers in flight; copies and backups; queries; walks of the tree; JSON as it was written; every limit |
//! | [`anthropic`], [`openai`], [`gemini`], [`uimessage`], [`microcompact`], [`snip`], [`strip_images`], [`summarize`], [`truncate_head`] | the options of each codec and policy |
//!
//! `docs/cookbook.md` has common tasks as whole programs. They are compiled and run with the
//! documentation of this crate.
//!
//! # Features
//!
//! | feature | adds | default |
//! |---|---|---|
//! | `inmem` | the store `mem:`, which lives in the process's memory | yes |
//! | `sqlite` | the store `sqlite:PATH` | yes |
//! | `postgres` | the store `postgres://…` | no |
//! | `redis` | the store `redis://…` | no |
//! | `redis-cluster` | the store `redis+cluster://…` | no |
//! | `tls` | encrypted connections to the server backends | no |
//! | `layers` | [`layers`]: stores that wrap stores: masked, cached, traced, retried, split, encrypted | no |
//! | `object` | [`object`]: blobs in a folder, beside any store, with `blobs=file:PATH` in its URL | no |
//! | `s3` | blobs in S3: `blobs=s3://BUCKET/PREFIX` | no |
//! | `gcs` | blobs in Google Cloud Storage: `blobs=gs://BUCKET/PREFIX` | no |
//! | `azure` | blobs in Azure Blob Storage: `blobs=az://CONTAINER/PREFIX` | no |
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
//! | `microcompact` | `Microcompact`: shortens old tool results | yes |
//! | `snip` | `Snip`: leaves out turns in the middle | yes |
//! | `summarize` | `Summarize`: replaces old turns by a rolling summary | yes |
//! | `strip-images` | `StripImages`: removes media, oldest first | yes |
//! | `truncate-head` | `TruncateHead`: keeps only the newest part | yes |
//! | `secrets` | [`secrets`]: finds secrets in text, JSON and messages, and masks them | yes |
//! | `trajectory` | [`trajectory`]: the record of agent runs | yes |
//! | `agents` | [`Agents`], [`Turn`]: one object over the parts; tools as functions | yes |
//! | `transcript` | [`transcript`]: files of other programs, read as chats and written back | no |
//! | `memory` | [`memory`]: recall of earlier messages, notes and facts | no |
//! | `memory-remote` | `memory::remote`: memories kept by another process | no |
//! | `model-http` | [`model_http`]: language models and embedders over HTTP | no |
//! | `otlp` | export of trajectories as traces to a collector | no |
//! | `metrics` | `OtelMetrics`: metrics of turns through OpenTelemetry | no |
//! | `cache` | `ChainCache`: chains shared between engines | no |
//! | `git` | `workspace::GitSnapshots`: snapshots of a workspace with the git program | no |
//! | `rescale` | `ImageRescaler`: scales down images that are too large for a provider | no |
//! | `full` | all of these | |
//!
//! A feature only adds names. It never changes what other code does. This crate composes: the
//! operations on fragments and messages are in `context-core` and the plug-ins.

#[cfg(feature = "agents")]
mod agents;
#[cfg(feature = "tokens")]
mod call;
#[cfg(feature = "tokens")]
mod cancellable;
pub mod compaction;
pub mod display;
mod engine;
pub mod fragments;
#[cfg(feature = "tokens")]
mod history_tools;
mod left_branch;
pub mod memory;
mod message_graph;
pub mod model;
mod observer;
mod plugins;
pub mod provenance;
mod recovery;
mod registry;
pub mod removal;
pub mod repair;
mod report;
#[cfg(feature = "rescale")]
mod rescale;
mod retention;
mod runtime;
#[cfg(feature = "tokens")]
pub mod sent;
pub mod store;
pub mod streams;
mod system;
mod tool_output;
mod trace;
pub mod trajectory;
#[cfg(feature = "transcript")]
pub mod transcript;
pub mod transfer;
pub mod workspace;

#[cfg(feature = "agents")]
pub use agents::{
    AgentChat, Agents, AgentsBuilder, Approval, Ask, InterruptedTurn, StoredTurn, ToolContext,
    ToolFunction, ToolReturn, Turn, TurnAnswer, TurnBuilder, TurnError, TurnLimits,
};
#[cfg(feature = "tokens")]
pub use call::{
    BackgroundSummaries, CallError, CallOptions, CallRequest, INCOMPLETE, ModelCall, Refusal,
};
pub use context_codec_kit::JsonPatch;
pub use context_codec_kit::provider_rules;
pub use context_codec_kit::sanitize;
pub use context_codec_kit::wire;
pub use context_core::base::{
    CancelSource, CheckpointName, CodeName, CodeNameError, DiagnosticCode, FragmentId, JsonMap,
    Severity, SnapshotId, StreamId, limits,
};
pub use context_core::fragment::{
    FragmentContent, Number, kinds, last_assistant_message, lazy, lazy_future, lazy_stream,
};
pub use context_core::history::{PlanReport, RecoveryDecision};
pub use context_core::message::{
    Data, Media, MediaSource, OpaqueBlock, Origin, Reasoning, SubstitutedBlock, Text, ToolInput,
    WrittenIn, graph,
};
pub use context_core::model::{FunctionTool, Tool};
pub use context_core::runtime::{
    Breakdown, CaptureTurnInput, Environment, ModelContext, Prefix, PrepareInput, RecoveryInput,
    RequestLimits, ToolResultInput, ToolResultOutput, TurnRef,
};
pub use context_core::{
    BranchName, CancelSignal, ChatId, ChatRef, Clock, ContextRuntime, Diagnostic, Error, ErrorKind,
    Fragment, FragmentData, IdGenerator, Json, JsonString, Message, MessageId, Messages, Metadata,
    Part, Renderer, Result, Retry, Role, Store, Timestamp, ToolCall, ToolResult, UserId, assistant,
    fragment, hint, role, user,
};
pub use context_render::{FORMATS, RenderOptions, by_name as renderer};
pub use context_store_kit::search;
#[cfg(feature = "summarize")]
pub use engine::BranchSummary;
#[cfg(feature = "cache")]
pub use engine::ChainCache;
pub use engine::{
    AsOf, BranchDiff, ChangeKind, Checkpointed, CherryPicked, Compaction, ConflictPolicy,
    ContextEngine, ContextEngineBuilder, Edits, ForkedFrom, FragmentChange, InspectedFragment,
    InspectedMessage, InspectedReminder, Inspection, Moved, PastPrompt, PromptChanges,
    PromptHistory, PromptPiece, ResolveOptions, Resolved, SaveOutcome, Saved, SystemPrompt,
};
#[cfg(feature = "tokens")]
pub use history_tools::HistoryTools;
pub use left_branch::LeftBranch;
pub use message_graph::{
    GraphDetail, GraphFormat, GraphLine, GraphOptions, GraphSpan, MessageGraph, UnknownGraphFormat,
};
#[cfg(feature = "metrics")]
pub use observer::OtelMetrics;
pub use observer::{CallOutcome, CompactionDecision, Observer, ProposedCompaction, TurnEvent};
pub use plugins::codecs::{PROVIDERS, message_codec, provider};
#[allow(unreachable_pub, unused_imports, reason = "no plug-in may be on")]
pub use plugins::crates::*;
pub use recovery::{
    CarryOutError, DecisionSet, Recovered, RecoveredHistory, RecoveryChain, raised_output,
    without_failed_answer,
};
pub use registry::{open, open_read_only};
pub use report::{TurnOutcome, TurnReport};
#[cfg(feature = "rescale")]
pub use rescale::ImageRescaler;
pub use retention::{Removal, RemovalReason, Retention};
pub use runtime::NullContextRuntime;
#[cfg(feature = "tokens")]
pub use runtime::{
    CacheKey, ContextStatus, DefaultContextRuntime, DefaultContextRuntimeBuilder, LiveMedia,
    ProviderClearing, READ_SPILLED, RecallPlace, RuntimeFault, RuntimeFaults, Spill, Spilled,
    SpilledRange, ToolResultLimits, materialize, spilled_output_tool,
};
pub use system::{SystemClock, Uuid7Ids};

/// Compiles and runs the recipes of the cookbook.
#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../../docs/cookbook.md")]
struct Cookbook;

/// The programs of the page for readers who come from other systems are compiled and run.
#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../../docs/coming-from.md")]
struct ComingFrom;

/// Compiles and runs the example of the README.
#[cfg(all(
    doctest,
    feature = "inmem",
    feature = "xml",
    feature = "anthropic",
    feature = "tokens",
    feature = "microcompact",
    feature = "snip",
    feature = "truncate-head",
    feature = "agents"
))]
#[doc = include_str!("../../README.md")]
struct Readme;

/// Compiles our program of the comparison in `docs/peers.md`.
#[cfg(all(doctest, feature = "full"))]
#[doc = concat!("```no_run\n", include_str!("../../xtask/peers/agent/context_agent.rs"), "```")]
struct ComparedAgent;
