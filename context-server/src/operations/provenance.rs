//! The data that fed an answer, and the answers that used it.

use std::sync::Arc;

use context_runtime::provenance::{DataLink, ProvenanceIndex};
use context_runtime::{MessageId, display};
use serde::Serialize;

use super::{Operations, StepDetail, StepId};
use crate::OperationError;

/// The most links of a list in an answer.
const LINKS: usize = 400;
/// The most messages of a branch that are indexed while somebody waits.
const MESSAGES: usize = 60_000;

/// The data that fed an answer, and the answers that used it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ProvenanceView {
    /// The branch.
    pub branch: String,
    /// The message.
    pub message: Option<MessageId>,
    /// Its role.
    pub role: &'static str,
    /// Its beginning, on one line.
    pub preview: String,
    /// The step that stands for it, with the recorded edges from and to data.
    pub step: Option<StepDetail>,
    /// The values of this answer that earlier messages hold, strongest first.
    pub sources: Vec<DataLink>,
    /// The number of sources that are left out.
    pub more_sources: usize,
    /// The values of later answers that were first seen in this message, strongest first.
    pub uses: Vec<DataLink>,
    /// The number of uses that are left out.
    pub more_uses: usize,
    /// The number of later answers that were not looked at.
    pub answers_left_out: usize,
    /// The number of values that the index forgot because there are too many.
    pub forgotten: u64,
    /// The number of messages, if there are too many to look at.
    pub too_long: Option<usize>,
}

impl Operations {
    /// Returns the provenance of a message of a branch: of the message that a step stands for, or
    /// of the newest answer if neither is named. Of a session without a chat, only the recorded
    /// edges of a step are known.
    pub async fn provenance(
        &self,
        session: &str,
        branch: Option<&str>,
        message: Option<MessageId>,
        step: Option<StepId>,
    ) -> Result<ProvenanceView, OperationError> {
        let run = self.run(session, None).await?;
        let step = match (step, &message) {
            (Some(step), _) => Some(step),
            (None, Some(message)) => run.step_of(message).await?,
            (None, None) => None,
        };
        let step = match step {
            Some(step) => Some(run.step(step).await?),
            None => None,
        };
        let mut found = ProvenanceView {
            branch: String::new(),
            message: None,
            role: "",
            preview: String::new(),
            step,
            sources: Vec::new(),
            more_sources: 0,
            uses: Vec::new(),
            more_uses: 0,
            answers_left_out: 0,
            forgotten: 0,
            too_long: None,
        };
        let Some(chat) = run.chat.as_deref() else { return Ok(found) };
        let of_step = |step: &StepDetail| {
            let mut links = step.node.messages.iter();
            links.find(|link| link.chat.as_str() == chat).map(|link| link.message.clone())
        };
        let message = message.or_else(|| found.step.as_ref().and_then(of_step));
        let view = match &message {
            Some(message) => self.branch_with(chat, branch, message).await?,
            None => self.branch(chat, branch).await?,
        };
        let newest = || {
            let mut nodes = view.chain.iter().rev();
            let answer = nodes.find(|node| node.role() == Some(context_runtime::Role::Assistant));
            answer.map(|node| node.id.clone())
        };
        let message = message.or_else(|| if found.step.is_none() { newest() } else { None });
        found.branch = view.branch.to_string();
        found.message.clone_from(&message);
        let Some(message) = message else { return Ok(found) };
        if found.step.is_none()
            && let Some(step) = run.step_of(&message).await?
        {
            found.step = Some(run.step(step).await?);
        }
        let position = view.chain.position(&message);
        if let Some(node) = position.and_then(|at| view.chain.get(at)) {
            found.role = display::role(node);
            found.preview = display::node_preview(node);
        }
        if view.chain.len() > MESSAGES {
            found.too_long = Some(view.chain.len());
            return Ok(found);
        }
        let known = Arc::clone(&view.provenance);
        let work = move || {
            let index = known.get_or_init(|| ProvenanceIndex::of(&view.chain));
            (index.sources(&message), index.uses(&message), index.forgotten())
        };
        let (sources, uses, forgotten) = tokio::task::spawn_blocking(work).await?;
        found.sources = sources.map(|it| it.links).unwrap_or_default();
        if let Some(uses) = uses {
            found.answers_left_out = uses.answers_left_out;
            found.uses = uses.links;
        }
        found.more_sources = found.sources.len().saturating_sub(LINKS);
        found.more_uses = found.uses.len().saturating_sub(LINKS);
        found.sources.truncate(LINKS);
        found.uses.truncate(LINKS);
        found.forgotten = forgotten;
        Ok(found)
    }

    /// Returns the branch if it has the message, else a branch that has it.
    pub(super) async fn branch_with(
        &self,
        chat: &str,
        branch: Option<&str>,
        message: &MessageId,
    ) -> Result<Arc<super::BranchView>, OperationError> {
        let view = self.branch(chat, branch).await?;
        if view.chain.position(message).is_some() {
            return Ok(view);
        }
        for other in self.chat(chat).await?.1 {
            let other = self.branch(chat, Some(other.name.as_str())).await?;
            if other.chain.position(message).is_some() {
                return Ok(other);
            }
        }
        Err(context_runtime::Error::not_found("provenance", "message", message).into())
    }
}
