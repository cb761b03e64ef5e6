//! Trajectories: records of the steps of an agent run, their causes and their data.
//!
//! A session of a user consists of *rounds*, one for each question. In each round, each agent (the
//! main agent is agent 0, sub-agents count from 1) has a [`Round`]: a directed acyclic graph of
//! typed nodes. Computation nodes are queries, conclusions, actions and responses. Data nodes hold
//! data that was found or made. A `Trajectory` combines the rounds of one agent into one graph and
//! connects them with bridges.
//!
//! # Two relations
//!
//! * The **flow** orders nodes: an edge leads from an earlier node to a later one. The flow is
//!   acyclic. Within a round, a change that would close a cycle is refused. Between rounds, only
//!   bridges lead from one round to the next, and they are derived from the order of rounds.
//! * A **reference** ([`edge::REFERS_TO`]) states that an action read data that is already
//!   recorded, possibly in an earlier round. References do not affect the order.
//!
//! # Changes
//!
//! Every method that changes a [`Round`] checks all conditions first and leaves the round unchanged
//! if it refuses. It returns its effect as [`Change`]s, which a
//! [`TrajectoryStore`](crate::store::TrajectoryStore) stores and [`RoundRecord::apply`] replays on
//! the record of a round.
//!
//! This module does no I/O, reads no clock and generates no ids. The crate `context-trajectory`
//! records.

mod body;
mod change;
mod changes;
pub mod edge;
mod error;
mod form;
mod kind;
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
pub use kind::{Field, FieldForm, TrajectoryNodeKind};
pub use new_node::{EndpointChange, NewNode, NewQuery};
pub use node::{Measures, MessageLink, NodeId, NodeTitle, TrajectoryNode};
pub use queue::{Queue, QueueItem, QueueName, Queues};
pub use record::{ParentNode, RoundHead, RoundRecord, RoundState};
pub use refs::{AgentRef, RoundRef};
pub use round::{NodeRemoval, Round};
