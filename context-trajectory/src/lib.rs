//! Trajectories: the record of an agent's run as a graph of what happened, why, and from which
//! data.
//!
//! The graph itself is defined in [`context_core::trajectory`]. This crate records the graph during
//! a run and restores it afterwards.
//!
//! * [`Trajectories`] opens one [`OpenRound`] per user, session, round and agent. A recorded change
//!   is durable when the call returns, and an interrupted round continues where it stopped.
//! * [`FileChannel`] stores trajectories in local files, next to a store or instead of one.
//! * [`Transcript`] turns conversations that were recorded by other systems into rounds.
//! * [`SessionGraph`] is a session for readers: `context-trajectory-export` writes it in the
//!   formats of other tools.
//! * [`messages`] cleans, renders, counts and logs the messages of a run.
//! * [`portraits`] has a model describe data nodes in the background. [`replay`] steps through a
//!   recorded run again without calling a model.
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_core::trajectory::AgentRef;
//! use context_core::trajectory::{NewQuery, RoundState};
//! use context_store_inmem::InMemoryStore;
//! use context_trajectory::{OpenOptions, Trajectories, Step, StepCall};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let trajectories = Trajectories::builder(Arc::new(InMemoryStore::default())).build()?;
//! let round = trajectories.next_round(&AgentRef::main("ada", "trip")).await?;
//! let open = trajectories.open(&round, OpenOptions::new()).await?;
//! open.ask(NewQuery::new("Where is it warm in March?")).await?;
//! let call = StepCall::new("call_1", "weather", serde_json::json!({"month": 3}));
//! open.step(Step::new("I look it up.").call(call)).await?;
//! open.tool_result("call_1", serde_json::json!(["Madeira"]), true).await?;
//! open.step(Step::new("On Madeira.")).await?;
//! open.close(RoundState::Closed).await?;
//! assert_eq!(open.trajectory().await?.len(), 4);
//! # Ok::<(), context_trajectory::RecordError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Channels
//!
//! The first channel is a store. [`TrajectoriesBuilder::channel`] adds further channels, each of
//! which holds a complete copy. Channels are written concurrently. A channel that fails does not
//! keep the others from being written, and receives the missing commits with the next write, or
//! when the round is opened again. A write returns when every channel has answered, so the slowest
//! channel sets the pace. When a round is opened, the most recently written copy is used.
//!
//! The meaning of nodes and edges is defined in core. How trajectories are persisted is up to the
//! stores.

mod agent_rounds;
mod backups;
mod catch_up;
mod channels;
mod convenience;
mod environment;
mod error;
mod factory;
mod files;
mod import;
mod journal;
pub mod local_file;
mod mentions;
pub mod messages;
mod open_round;
mod open_rounds;
mod opener;
pub mod portraits;
mod record_chat;
mod record_message;
mod recorded_message;
mod recorder;
pub mod replay;
mod run;
mod session_graph;
mod shared_rounds;
mod step;
mod trajectory;
mod transcript;

pub use backups::Backups;
pub use error::RecordError;
pub use factory::{Trajectories, TrajectoriesBuilder};
pub use files::FileChannel;
pub use import::RoundImported;
pub use journal::TornTail;
pub use mentions::{FileLookup, HostFiles, MentionedFiles, mentioned_files};
pub use open_round::OpenRound;
pub use opener::OpenOptions;
pub use record_chat::{BranchHistory, BranchRecorded, ChatRecorded};
pub use recorded_message::RecordedMessage;
pub use run::{RunError, work_off};
pub use session_graph::{
    AgentGraph, AgentNode, Link, LinkKind, RoundGraph, Selection, SessionGraph,
};
pub use step::{Step, StepCall, StepNodes};
pub use trajectory::{Bridge, BridgeFrom, Pruned, Trajectory};
pub use transcript::{
    SkipReason, SkippedMessage, Transcript, TranscriptEvent, TranscriptRound, TranscriptStep,
};
