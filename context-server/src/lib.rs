//! The inspector: a page on which a person sees what an agent did, what it was sent, what was cut
//! and why, and what it cost; and the HTTP API that the page uses.
//!
//! [`Operations`] are typed requests and answers over the chats of one user in any store. [`router`]
//! serves them as pages and JSON, to be mounted into a program's own axum application beside a
//! running agent. [`Server`] serves them on a port of this machine, as `context ui` does.
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
mod operations;
mod pages;
mod router;
mod server;

pub use access::Access;
pub use error::OperationError;
pub use export::{FirstView, HtmlExportError, HtmlExported, write_html};
pub use links::chat_path;
pub use operations::{
    Action, ActionDone, AnswerProgress, BranchDifference, BranchLine, BranchTree, BranchView,
    ChatFacts, ChatHead, ChatPage, ChatVersion, ForgetMemory, GraphBox, GraphBoxKind, GraphEdge,
    MemoryEntry, MemoryForgotten, MemoryPage, MemoryRecall, MemoryScopeSize, Operations,
    PieceInFlight, PromptFormat, PromptFragment, PromptTool, PromptView, ProvenanceView, Row, Run,
    RunGraph, RunLine, RunOrigin, SearchAnswer, SearchLine, SentAnswer, SentDifference, SentQuery,
    StepDetail, StepId, StepLink, StepState, SystemText, TurnHead,
};
pub use router::{router, router_with};
pub use server::Server;
