//! The seam of language models.

use std::fmt;

use async_trait::async_trait;

use super::{Answer, AnswerDelta, ModelError, ModelRequest};
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

    /// Asks, and hands out what the answer adds as it comes; gives the same answer as [`complete`](Self::complete) would. An answer
    /// that broke off is not [complete](Answer::complete); nothing that was handed out is handed out twice.
    ///
    /// What is here waits for the whole answer and then hands out its [pieces](Answer::deltas), so every model can be asked like this.
    async fn stream(
        &self,
        request: &ModelRequest,
        cancel: &CancelSignal,
        show: &mut (dyn FnMut(AnswerDelta) + Send),
    ) -> Result<Answer, ModelError> {
        let answer = self.complete(request, cancel).await?;
        answer.deltas().for_each(show);
        Ok(answer)
    }
}
