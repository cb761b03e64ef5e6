//! The check whether the answer of a model is a summary.

use context_core::history::SummaryError;
use context_core::model::StopReason;
use context_core::{Answer, Part};

use crate::prompt::{CORE_HEADINGS, missing};

/// A summary, and the core headings that it does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AcceptedSummary {
    pub(crate) text: String,
    pub(crate) missing: Vec<String>,
}

/// Returns the summary in an answer, or the reason why there is none.
pub(crate) fn judge(answer: &Answer) -> Result<AcceptedSummary, SummaryError> {
    if let Some(error) = &answer.error {
        return Err(SummaryError::Failed(error.to_string()));
    }
    match &answer.stop {
        Some(StopReason::Length | StopReason::ContextWindow | StopReason::Paused) => {
            return Err(SummaryError::CutOff);
        }
        Some(StopReason::Refusal | StopReason::ContentFilter) => return Err(SummaryError::Refused),
        _ if !answer.complete => return Err(SummaryError::CutOff),
        _ => {}
    }
    let calls = answer.message.parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
    if calls || answer.stop == Some(StopReason::ToolCalls) {
        return Err(SummaryError::Malformed { missing: "the end, since it calls a tool".into() });
    }
    let text = answer.message.plain_text();
    let text = text.trim();
    if text.is_empty() {
        return Err(SummaryError::Empty);
    }
    let missing = missing(text);
    if missing.len() == CORE_HEADINGS.len() {
        return Err(SummaryError::Malformed {
            missing: format!("each of the headings {}", missing.join(", ")),
        });
    }
    Ok(AcceptedSummary { text: text.to_owned(), missing })
}
