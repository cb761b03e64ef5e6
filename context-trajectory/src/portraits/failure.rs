//! What became of portraits.

use std::io;
use std::sync::Arc;

use context_core::ModelError;
use context_core::trajectory::AgentRef;
use context_core::trajectory::NodeId;
use thiserror::Error as ThisError;

use crate::RecordError;

/// Why a node has no portrait.
#[derive(ThisError)]
#[non_exhaustive]
pub enum PortraitError {
    /// The model failed, also after retries.
    #[error(transparent)]
    Model(Box<ModelError>),
    /// The model refused, broke off or said nothing.
    #[error("the model gave no description")]
    NoDescription,
    /// A skill whose text cannot be read, or is empty.
    #[error("the skill cannot be read")]
    Skill(#[source] io::Error),
    /// There is a description, and it could not be written. It is kept: the next schedule writes it
    /// and asks nobody.
    #[error("the description could not be written")]
    Record(#[from] RecordError),
    /// [`Portraits::cancel`](super::Portraits::cancel) came first.
    #[error("cancelled")]
    Cancelled,
    /// The task that made it ended without a word: a panic of the model, or the end of the runtime.
    #[error("the task ended without a word")]
    Ended,
}

context_core::readable_debug!(PortraitError);

impl From<ModelError> for PortraitError {
    fn from(error: ModelError) -> Self {
        Self::Model(Box::new(error))
    }
}

/// A node that has no portrait though one was tried.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PortraitFailure {
    /// Whose node.
    pub agent: AgentRef,
    /// The node.
    pub node: NodeId,
    /// Why.
    pub error: Arc<PortraitError>,
}

/// How things stand.
#[derive(Clone, Debug, Default)]
#[must_use]
#[non_exhaustive]
pub struct PortraitReport {
    /// How many nodes were described until now.
    pub described: u64,
    /// How many are not done yet. They go on, and what comes of them is written.
    pub pending: usize,
    /// What failed and was not tried again since, by agent and node.
    pub failures: Vec<PortraitFailure>,
}
