//! Requests of a chat, recomputed: the body of each request as it was sent or would be sent, and
//! the reason for each piece of it.
//!
//! A [`RequestReplay`] prepares the requests of one branch one after the other, with the runtime of
//! this crate and one session, so that cuts stay made and prefixes are compared as in a live agent.
//! A *request* is sent before each assistant message of the branch. A branch that ends with
//! another message has one request more, the next one.
//!
//! ```
//! use context_runtime::sent::{ReplayOptions, RequestReplay};
//! use context_runtime::{ContextEngine, assistant, hint, user};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = context_runtime::open("mem:").await?;
//! let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
//! chat.set([hint("Prices are in EUR."), user("Two tickets."), assistant("Window or aisle?").with_id("a1")]);
//! chat.set([user("Aisle.").with_id("u2")]).save().await?;
//!
//! let history = chat.as_of(&"u2".into()).await?.history; // the whole chain, with its boundaries
//! let prompts = chat.prompt_history(&history).await?; // the system prompt of each request
//! let options = ReplayOptions::new("anthropic").chat(("ada", "lisbon"));
//! let mut replay = RequestReplay::new(&history, prompts, options)?;
//! assert_eq!(replay.requests().len(), 2);
//!
//! let number = replay.request_of(&"a1".into()).expect("an answer of this branch");
//! let report = replay.report(number)?;
//! assert!(report.body.as_str().contains("Two tickets."));
//! println!("{report}");
//! # Ok(())
//! # }
//! ```
//!
//! **Recorded and planned.** A boundary that is stored in the chain is in force from its place on,
//! as an engine shows it. One that was made for a request, by the cut of that call, is part of that
//! request already. Cuts that the policies of the replay make on top stay in force in the following
//! requests, until a stored boundary takes their place. [`RequestReport::origin`] says which of the
//! two decided.
//!
//! **Bounds.** Of a long branch only a part is replayed: request n is prepared after at least one
//! whole [block](ReplayOptions::block) of requests before it, from a multiple of the block on. The
//! result for a number does not depend on which reports were made before. A replay keeps its
//! session, so the next reports are cheap; it is [`Send`] and can be kept by the caller. Nothing is
//! awaited, and a report of a long branch takes a while: run it where blocking is allowed.
//!
//! **What is not known.** Memories that were recalled, fragments that were not persisted, and media
//! stored as blobs are not part of a chain. The request is recomputed without them.

mod branch;
mod compare;
mod cost;
mod diff;
mod error;
mod options;
mod pieces;
mod plans;
mod reasons;
mod replay;
mod report;
mod session;
mod shown_history;
mod text;
mod turn_cost;

pub use branch::RequestEntry;
pub use compare::{BreakCause, PrefixReport};
pub use cost::InputCost;
pub use diff::{ChangeOfPieces, PieceChange, RequestDiff};
pub use error::ReplayError;
pub use options::ReplayOptions;
pub use pieces::{Fate, PieceKind, RequestPiece};
pub use plans::CutInForce;
pub use replay::RequestReplay;
pub use report::{RequestOrigin, RequestReport, SavedTokens};
pub use turn_cost::TurnCost;
