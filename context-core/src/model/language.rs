//! The seam of language models.

use std::fmt;

use async_trait::async_trait;

use super::{Answer, ModelError, ModelRequest};
use crate::CancelSignal;

/// A model that answers.
///
/// Implementors: end soon after the signal is raised, with [`ModelErrorCode::Unknown`](crate::ModelErrorCode::Unknown) or the code of
/// what came first; do not change the request.
#[async_trait]
pub trait LanguageModel: fmt::Debug + Send + Sync + 'static {
    /// The model's name, under which its window and its tokens are known.
    fn name(&self) -> &str;

    /// Asks and waits for the whole answer.
    async fn complete(&self, request: &ModelRequest, cancel: &CancelSignal) -> Result<Answer, ModelError>;
}
