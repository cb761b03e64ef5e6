//! Streamed answers.

use context_core::Answer;
use context_core::model::{AnswerDelta, AnswerStream, WireError};

use super::answer;
use super::assembly::Assembly;

/// An answer of streamGenerateContent: the data of server-sent events or, without `alt=sse`, the
/// elements of a list, with or without the brackets and commas between them.
#[derive(Debug, Default)]
pub(super) struct GenerateStream {
    assembly: Assembly,
}

impl AnswerStream for GenerateStream {
    fn push(&mut self, event: &str) -> Result<Vec<AnswerDelta>, WireError> {
        let event = event.trim();
        if event == "[DONE]" {
            return Ok(Vec::new());
        }
        if event.starts_with('[') && event.ends_with(']') {
            return answer::push_events(event, &mut self.assembly);
        }
        let event = event.trim_start_matches(['[', ',']).trim_end_matches([']', ',']).trim();
        if event.is_empty() {
            return Ok(Vec::new());
        }
        self.assembly.push(event, "")
    }

    fn answer(&self) -> Answer {
        self.assembly.answer()
    }
}
