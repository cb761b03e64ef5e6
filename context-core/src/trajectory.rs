//! Trajectories: what happened in a run of an agent, why, and from which data.
//!
//! A session of a user has *rounds*, one for each question. Of each round, each agent (the main one
//! is agent 0, sub-agents count from 1) has a [`Round`]: a directed acyclic graph of typed nodes.
//! Computation nodes are the question, what was concluded, what was done, what was answered; data
//! nodes are what was found or made. [`Trajectory`] lays the rounds of one agent side by side and
//! bridges them.
//!
//! # Two relations
//!
//! * The **flow** orders nodes: an edge leads from what came before to what followed. It is
//!   acyclic, within a round because a change that would close a cycle is refused, between rounds
//!   because only bridges lead from one to the next, and they are derived from the order of rounds.
//! * A **reference** ([`edge::REFERS_TO`]) says that an action read data that is on record already,
//!   maybe of an earlier round. It takes no part in the order.
//!
//! # How a change is made
//!
//! Every call that changes a [`Round`] checks everything first and leaves the round untouched if it
//! refuses. What it did it returns as [`Change`]s, which a
//! [`TrajectoryStore`](crate::store::TrajectoryStore) keeps and [`RoundRecord::apply`] does again to the
//! record of a round.
//!
//! What is not here: files, times, ids that are made up. Who records is `context-trajectory`.

mod body;
mod change;
mod changes;
pub mod edge;
mod error;
mod form;
mod kind;
mod merged;
mod new_node;
mod node;
mod queue;
mod record;
mod redact;
mod refs;
mod round;

pub use body::{FieldValue, NodeBody};
pub use change::Change;
pub use changes::{Changes, Version};
pub use edge::{Edge, EdgeNames, Relation};
pub use error::TrajectoryError;
pub use kind::{Field, FieldForm, NodeKind};
pub use merged::{Bridge, BridgeFrom, Pruned, Trajectory};
pub use new_node::{NewNode, NewQuery, Placing};
pub use node::{Measures, MessageLink, Node, NodeId, NodeTitle};
pub use queue::{Queue, QueueItem, QueueName, Queues};
pub use record::{ParentNode, RoundHead, RoundRecord, RoundState};
pub use refs::{AgentRef, RoundRef};
pub use round::{Removal, Round};
