//! One portrait: from a node to the text that describes it.

use std::pin::pin;
use std::sync::Arc;

use context_core::model::{LanguageModel, ModelErrorCode, StopReason};
use context_core::trajectory::{Node, NodeKind, Round};
use context_core::{Answer, CancelSignal, ModelError, ModelRequest, Part};
use futures_util::future::{Either, select};

use super::cause::cause;
use super::failure::PortraitError;
use super::options::PortraitOptions;
use super::preview::{self, ReadPreview};
use super::prompt::{request, shown};

/// The longest description, in characters.
const LONGEST: usize = 1_000;
/// How much of a skill without a description describes it, in characters.
const SKILL: usize = 600;

/// Who makes portraits.
#[derive(Clone, Debug)]
pub(super) struct Painter {
    pub(super) model: Arc<dyn LanguageModel>,
    pub(super) previews: Arc<dyn ReadPreview>,
    pub(super) options: PortraitOptions,
    pub(super) cancel: CancelSignal,
}

impl Painter {
    /// The description of a node, from the round as it is now.
    pub(super) async fn portray(
        &self,
        round: Arc<Round>,
        node: Arc<Node>,
    ) -> Result<String, PortraitError> {
        if node.kind() == NodeKind::Skill {
            let (previews, node) = (self.previews.clone(), node);
            let read = move || preview::skill(&*previews, node.body.text("path"));
            let said = tokio::task::spawn_blocking(read).await.map_err(|_| PortraitError::Ended)?;
            return Ok(shown(&said.map_err(PortraitError::Skill)?, SKILL));
        }
        let cause = cause(&round, node.id);
        // Held, the graph would be copied by the next change.
        drop(round);
        let preview = self.preview(&node).await?;
        let mut asked = request(&node, &cause, preview.as_deref());
        asked.max_output_tokens = self.options.max_output_tokens;
        let answer = self.ask(&asked).await?;
        described(answer)
    }

    /// The beginning of the file that a node names: of its copy, if it has one. That there is none
    /// is no failure: what made a file says much of it.
    async fn preview(&self, node: &Arc<Node>) -> Result<Option<String>, PortraitError> {
        let read: fn(&dyn ReadPreview, &str) -> Option<String> = match node.kind() {
            NodeKind::Table => preview::rows,
            NodeKind::File => preview::lines,
            _ => return Ok(None),
        };
        let (previews, node) = (self.previews.clone(), node.clone());
        let paths = move || {
            let paths = [node.body.text("path_backup"), node.body.text("path")];
            paths
                .into_iter()
                .filter(|path| !path.is_empty())
                .find_map(|path| read(&*previews, path))
        };
        tokio::task::spawn_blocking(paths).await.map_err(|_| PortraitError::Ended)
    }

    async fn ask(&self, asked: &ModelRequest) -> Result<Answer, PortraitError> {
        let mut retry = 0;
        loop {
            let error = match self.unless_cancelled(self.call(asked)).await? {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(wait) = self.options.wait(retry, &error) else { return Err(error.into()) };
            self.unless_cancelled(tokio::time::sleep(wait)).await?;
            retry += 1;
        }
    }

    async fn call(&self, asked: &ModelRequest) -> Result<Answer, ModelError> {
        let call = self.model.complete(asked, &self.cancel);
        let late = |_| {
            ModelError::new(
                self.model.name(),
                ModelErrorCode::Timeout,
                "the portrait took too long",
            )
        };
        let mut answer =
            tokio::time::timeout(self.options.call_limit, call).await.map_err(late)??;
        match answer.error.take() {
            Some(error) => Err(error),
            None => Ok(answer),
        }
    }

    async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, PortraitError> {
        match select(pin!(self.cancel.cancelled()), pin!(work)).await {
            Either::Left(_) => Err(PortraitError::Cancelled),
            Either::Right((done, _)) => Ok(done),
        }
    }
}

/// What the model said, on one line.
fn described(answer: Answer) -> Result<String, PortraitError> {
    let refused = matches!(answer.stop, Some(StopReason::Refusal | StopReason::ContentFilter));
    let texts = answer.message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let text = texts.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    if refused || !answer.complete || text.is_empty() {
        return Err(PortraitError::NoDescription);
    }
    Ok(shown(&text, LONGEST))
}
