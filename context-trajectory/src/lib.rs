//! Trajectories: what happened in a run of an agent, why, and from which data.
//!
//! The graph itself is [`context_core::trajectory`]; this crate records it while a run goes on,
//! brings it back, and gives it to other tools.
//!
//! * [`Trajectories`] makes one [`OpenRound`] for each user, session, round and agent; what is
//!   recorded through it is durable when the call returns, and a round that was cut off goes on
//!   where it was.
//! * [`FileChannel`] keeps trajectories in local files, beside a store or instead of one.
//! * [`Transcript`] makes rounds of conversations that were had elsewhere.
//! * [`export`] writes it in the formats of other tools.
//! * [`messages`] cleans, shows, counts and logs the messages of a run.
//! * [`portraits`] has a model describe data in the background; [`replay`] walks a recorded run
//!   again, without a model.
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_core::trajectory::AgentRef;
//! use context_core::trajectory::{NewQuery, RoundState};
//! use context_store_inmem::InMemoryStore;
//! use context_trajectory::{OpenOptions, Trajectories, Turn, TurnCall};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let trajectories = Trajectories::builder(Arc::new(InMemoryStore::default())).build()?;
//! let round = trajectories.next_round(&AgentRef::main("ada", "trip")).await?;
//! let open = trajectories.open(&round, OpenOptions::new()).await?;
//! open.ask(NewQuery::new("Where is it warm in March?")).await?;
//! let call = TurnCall::new("call_1", "weather", serde_json::json!({"month": 3}));
//! open.turn(Turn::new("I look it up.").call(call)).await?;
//! open.tool_result("call_1", serde_json::json!(["Madeira"]), true).await?;
//! open.turn(Turn::new("On Madeira.")).await?;
//! open.close(RoundState::Closed).await?;
//! assert_eq!(open.trajectory().await?.len(), 4);
//! # Ok::<(), context_trajectory::RecordError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Channels
//!
//! The first channel is a store; [`TrajectoriesBuilder::channel`] adds others, each with all of it.
//! They are written at the same time, each at its own pace: one that fails holds none of the others
//! up, and gets what it lacks with the next write, or when the round is opened again. Of each round
//! that is opened, what was written to last counts.
//!
//! What is not here: what nodes and edges mean, which is in core, and how stores keep them.

mod backups;
mod catch_up;
mod channels;
mod environment;
mod error;
pub mod export;
mod factory;
mod files;
mod import;
mod journal;
mod mentions;
pub mod messages;
mod open_round;
mod opening;
pub mod peer;
pub mod portraits;
mod recorder;
pub mod replay;
mod run;
mod said;
mod session;
mod shelf;
mod transcript;
mod turn;
mod whole;

pub use backups::Backups;
pub use error::RecordError;
pub use factory::{Trajectories, TrajectoriesBuilder};
pub use files::FileChannel;
pub use import::RoundImported;
pub use journal::TornTail;
pub use mentions::{FileLookup, HostFiles, MentionedFiles, mentioned_files};
pub use open_round::OpenRound;
pub use opening::OpenOptions;
pub use run::{RunError, work_off};
pub use transcript::{
    SkipReason, SkippedMessage, Transcript, TranscriptEvent, TranscriptRound, TranscriptStep,
};
pub use turn::{Turn, TurnCall, TurnNodes};
