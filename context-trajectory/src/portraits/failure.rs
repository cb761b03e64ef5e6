//! Outcomes of portraits.

use std::io;
use std::sync::Arc;

use context_core::ModelError;
use context_core::trajectory::{AgentRef, NodeId};
use thiserror::Error as ThisError;

use crate::RecordError;

/// The reason why a node has no portrait.
#[derive(ThisError)]
#[non_exhaustive]
pub enum PortraitError {
    /// The model failed, also after retries.
    #[error(transparent)]
    Model(Box<ModelError>),
    /// The model refused, stopped early or returned no text.
    #[error("the model gave no description")]
    NoDescription,
    /// The text of a skill cannot be read or is empty.
    #[error("the skill cannot be read")]
    Skill(#[source] io::Error),
    /// The description was made but could not be written. It is kept: the next schedule writes it
    /// without another model call.
    #[error("the description could not be written")]
    Record(#[from] RecordError),
    /// [`Portraits::cancel`](super::Portraits::cancel) was called first.
    #[error("cancelled")]
    Cancelled,
    /// The task ended without a result, by a panic of the model or the end of the runtime.
    #[error("the task ended without a result")]
    Ended,
}

context_core::readable_debug!(PortraitError);

impl From<ModelError> for PortraitError {
    fn from(error: ModelError) -> Self {
        Self::Model(Box::new(error))
    }
}

/// A failed portrait.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PortraitFailure {
    /// The agent.
    pub agent: AgentRef,
    /// The node.
    pub node: NodeId,
    /// The reason.
    pub error: Arc<PortraitError>,
}

/// The state of all portraits.
#[derive(Clone, Debug, Default)]
#[must_use]
#[non_exhaustive]
pub struct PortraitReport {
    /// The number of nodes described so far.
    pub described: u64,
    /// The number of unfinished portraits. They continue, and their results are written.
    pub pending: usize,
    /// The failed portraits that were not retried since, by agent and node.
    pub failures: Vec<PortraitFailure>,
}
