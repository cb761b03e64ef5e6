//! Trajectories: the record of an agent run: what happened, why, and from which data.
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_runtime::trajectory::AgentRef;
//! use context_runtime::trajectory::{NewNode, NewQuery, NodeBody, OpenOptions, RoundState, Trajectories};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = context_runtime::open("mem:").await?; // or sqlite:runs.db
//! let trajectories = Trajectories::builder(store).build()?;
//! let agent = AgentRef::main("ada", "lisbon");
//! let round = trajectories.open(&agent.round(0), OpenOptions::new()).await?;
//!
//! let query = round.ask(NewQuery::new("Two tickets to Lisbon, please.")).await?;
//! let search = NodeBody::action("search_trains", serde_json::json!({"to": "Lisbon"}));
//! let search = round.add(NewNode::new(search, [query])).await?;
//! let found = NodeBody::knowledge("timetable", "Friday, 10:05");
//! round.add(NewNode::new(found, [search])).await?;
//! round.add(NewNode::new(NodeBody::state("There is one train."), [search])).await?;
//! round.close(RoundState::Closed).await?;
//!
//! assert_eq!(round.trajectory().await?.len(), 4);
//! # Ok(())
//! # }
//! ```

#[cfg(all(feature = "trajectory", feature = "transcript"))]
mod record_chat;

pub use context_core::SessionId;
#[cfg(feature = "trajectory")]
pub use context_core::trajectory::*;
pub use context_core::trajectory::{AgentRef, RoundRef};
#[cfg(feature = "trajectory")]
pub use context_trajectory::*;
#[cfg(feature = "trajectory")]
pub use context_trajectory_export as export;
#[cfg(feature = "trajectory")]
pub use context_trajectory_export::peer;
#[cfg(all(feature = "trajectory", feature = "transcript"))]
pub use record_chat::record_chat;
