//! Making one portrait: from a node to its description.

use std::pin::pin;
use std::sync::Arc;

use context_core::model::{LanguageModel, ModelErrorCode, StopReason};
use context_core::trajectory::{Round, TrajectoryNode, TrajectoryNodeKind};
use context_core::{Answer, CancelSignal, ModelError, ModelRequest, Part};
use futures_util::future::{Either, select};

use super::cause::cause;
use super::failure::PortraitError;
use super::options::PortraitOptions;
use super::preview::{self, ReadPreview};
use super::prompt::{request, shown};

/// The longest description, in characters.
const LONGEST: usize = 1_000;
/// The number of characters of a skill's text that describe it if it has no description.
const SKILL: usize = 600;

/// Makes portraits.
#[derive(Clone, Debug)]
pub(super) struct PortraitMaker {
    pub(super) model: Arc<dyn LanguageModel>,
    pub(super) previews: Arc<dyn ReadPreview>,
    pub(super) options: PortraitOptions,
    pub(super) cancel: CancelSignal,
}

impl PortraitMaker {
    /// Returns the description of a node, based on the given state of the round.
    pub(super) async fn portray(
        &self,
        round: Arc<Round>,
        node: Arc<TrajectoryNode>,
    ) -> Result<String, PortraitError> {
        if node.kind() == TrajectoryNodeKind::Skill {
            let (previews, node) = (self.previews.clone(), node);
            let read = move || preview::skill(&*previews, node.body.text("path"));
            let text = tokio::task::spawn_blocking(read).await.map_err(|_| PortraitError::Ended)?;
            return Ok(shown(&text.map_err(PortraitError::Skill)?, SKILL));
        }
        let cause = cause(&round, node.id);
        // The next change would copy the graph if the round were still held.
        drop(round);
        let preview = self.preview(&node).await?;
        let mut request = request(&node, &cause, preview.as_deref());
        request.max_output_tokens = self.options.max_output_tokens;
        let answer = self.ask(&request).await?;
        described(answer)
    }

    /// Returns the beginning of the node's file, preferably of its backup copy. A missing file is
    /// not a failure, since the action that made the file is described too.
    async fn preview(&self, node: &Arc<TrajectoryNode>) -> Result<Option<String>, PortraitError> {
        let read: fn(&dyn ReadPreview, &str) -> Option<String> = match node.kind() {
            TrajectoryNodeKind::Table => preview::rows,
            TrajectoryNodeKind::File => preview::lines,
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

    async fn ask(&self, request: &ModelRequest) -> Result<Answer, PortraitError> {
        let mut retry = 0;
        loop {
            let error = match self.unless_cancelled(self.call(request)).await? {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(wait) = self.options.wait(retry, &error) else { return Err(error.into()) };
            self.unless_cancelled(tokio::time::sleep(wait)).await?;
            retry += 1;
        }
    }

    async fn call(&self, request: &ModelRequest) -> Result<Answer, ModelError> {
        let call = self.model.complete(request, &self.cancel);
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

/// Returns the model's answer on one line.
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
