//! The seam of language models.

use std::fmt;

use async_trait::async_trait;

use super::AnswerDelta;
use crate::CancelSignal;
use crate::{Answer, ModelError, ModelRequest};

/// A model that answers.
///
/// Implementors: end soon after the signal is raised, with
/// [`ModelErrorCode::Unknown`](crate::model::ModelErrorCode::Unknown) or the code of what came first; do
/// not change the request.
///
/// ```
/// use async_trait::async_trait;
/// use context_core::{Answer, CancelSignal, Message, ModelError, ModelRequest, Role};
/// use context_core::model::LanguageModel;
///
/// /// Says what it was told; for tests.
/// #[derive(Debug)]
/// struct Echo;
///
/// #[async_trait]
/// impl LanguageModel for Echo {
///     fn name(&self) -> &str {
///         "echo"
///     }
///
///     async fn complete(&self, request: &ModelRequest, _: &CancelSignal) -> Result<Answer, ModelError> {
///         let heard = request.messages.last().map(|message| message.plain_text().into_owned());
///         Ok(Answer::new(Message::text(Role::Assistant, heard.unwrap_or_default())))
///     }
/// }
/// # assert_eq!(Echo.name(), "echo");
/// ```
#[async_trait]
pub trait LanguageModel: fmt::Debug + Send + Sync + 'static {
    /// The model's name, under which its window and its tokens are known.
    fn name(&self) -> &str;

    /// Asks and waits for the whole answer.
    async fn complete(
        &self,
        request: &ModelRequest,
        cancel: &CancelSignal,
    ) -> Result<Answer, ModelError>;

    /// Asks, and hands out what the answer adds as it comes; gives the same answer as
    /// [`complete`](Self::complete) would. An answer that broke off is not
    /// [complete](Answer::complete); nothing that was handed out is handed out twice.
    ///
    /// What is here waits for the whole answer and then hands out its [pieces](Answer::deltas), so
    /// every model can be asked like this.
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
