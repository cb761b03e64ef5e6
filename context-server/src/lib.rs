//! Three faces of one set of operations over a store: the inspector, a page on which a person sees
//! what an agent did, what it was sent, what was cut and why, and what it cost; the HTTP API for
//! programs in other languages; and the tools of the Model Context Protocol for other agents.
//!
//! [`Operations`] are typed requests and answers over the chats of one user in any store. [`router`]
//! serves them as pages and JSON, to be mounted into a program's own axum application beside a
//! running agent. [`Server`] serves them on a port of this machine, as `context ui` does.
//! [`Service`] is the HTTP API, as `context serve` opens it, and [`McpServer`] has the tools.
//!
//! ```
//! use context_runtime::Agents;
//! use context_server::{Operations, router};
//!
//! # async fn application(agents: Agents) -> axum::Router {
//! let inspector = router(Operations::from(&agents).user("ada"));
//! axum::Router::new().nest("/inspector", inspector)
//! # }
//! ```
//!
//! `examples/beside_an_agent.rs` is this as a whole program.
//!
//! Content is shown as text: no markup of a message, name or result reaches the page, the content
//! security policy allows scripts and styles of this crate only, and nothing is fetched from
//! elsewhere. `docs/design/inspector.md` has the decisions.

mod access;
mod api;
mod assets;
mod content;
mod error;
mod export;
mod links;
mod listen;
mod mcp;
mod operations;
mod pages;
mod router;
mod server;
mod service;

pub use access::Access;
pub use error::OperationError;
pub use export::{FirstView, HtmlExportError, HtmlExported, write_html};
pub use links::chat_path;
pub use mcp::McpServer;
pub use operations::{
    Action, ActionDone, AnswerProgress, AppendConditions, AppendMessages, AppendedMessages,
    BeginTurn, BranchDifference, BranchLine, BranchState, BranchTree, BranchView, ChatChange,
    ChatFacts, ChatHead, ChatOverview, ChatPage, ChatVersion, CheckpointState, ContinueTurn,
    EndOfStream, ForgetMemory, GraphBox, GraphBoxKind, GraphEdge, MemoryEntry, MemoryForgotten,
    MemoryPage, MemoryRecall, MemoryRemembered, MemoryScopeSize, MessagePage, MessageQuery,
    ModelReply, NewMessage, Operations, PieceInFlight, PrepareRequest, PreparedCall,
    PreparedRequest, PreparedTokens, PromptFormat, PromptFragment, PromptTool, PromptView,
    ProvenanceView, RememberText, RequestedCall, RoundLine, RoundPage, Row, Run, RunGraph, RunLine,
    RunOrigin, SearchAnswer, SearchLine, SentAnswer, SentDifference, SentQuery, StepAnswer,
    StepDetail, StepId, StepLink, StepState, StepUsage, StoreCheck, StoredMessage, StreamProgress,
    SystemText, ToolDefinition, ToolOutcome, TrajectoryFormat, TurnHead, TurnSettings, TurnState,
    TurnStep, UserErased, WriteStream,
};
pub use router::{router, router_with};
pub use server::Server;
pub use service::{BoundService, Service, ServiceLimits, Tokens, TokensError};
