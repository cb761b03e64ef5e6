//! The trait for language models.

use std::fmt;

use async_trait::async_trait;

use super::AnswerDelta;
use crate::{Answer, CancelSignal, ModelError, ModelRequest};

/// A language model that answers requests.
///
/// Contract with implementors: end soon after the signal is raised, with
/// [`ModelErrorCode::Unknown`](crate::model::ModelErrorCode::Unknown) or the code of an earlier
/// error. Do not change the request.
///
/// ```
/// use async_trait::async_trait;
/// use context_core::{Answer, CancelSignal, Message, ModelError, ModelRequest, Role};
/// use context_core::model::LanguageModel;
///
/// /// Answers with the text of the last message, for tests.
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
///         let text = request.messages.last().map(|message| message.plain_text().into_owned());
///         Ok(Answer::new(Message::text(Role::Assistant, text.unwrap_or_default())))
///     }
/// }
/// # assert_eq!(Echo.name(), "echo");
/// ```
#[async_trait]
pub trait LanguageModel: fmt::Debug + Send + Sync + 'static {
    /// Returns the model's name, which identifies its window and tokenizer.
    fn name(&self) -> &str;

    /// Sends a request and waits for the complete answer.
    async fn complete(
        &self,
        request: &ModelRequest,
        cancel: &CancelSignal,
    ) -> Result<Answer, ModelError>;

    /// Sends a request and passes each delta to `show` as it arrives. Returns the same answer as
    /// [`complete`](Self::complete). An interrupted answer is not [complete](Answer::complete).
    /// Every delta is passed once.
    ///
    /// The default waits for the complete answer and then passes its [deltas](Answer::deltas), so
    /// every model can be called this way.
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
