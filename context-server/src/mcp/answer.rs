//! Answers of tools: bounded text.

use context_runtime::Timestamp;
use rmcp::model::{CallToolResult, ContentBlock};

use crate::OperationError;

/// The most bytes of an answer.
pub(super) const MOST_BYTES: usize = 40_000;

const READ_ONLY: &str = "this server was started with --read-only: remember, forget, fork and \
                         compact are refused";

/// Text that is written line by line until it is long enough.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: String,
    left_out: usize,
}

impl Lines {
    /// Adds a line. One that would make the text too long is counted instead, as are all after it.
    pub(super) fn add(&mut self, line: &str) {
        if self.left_out > 0 || self.text.len() + line.len() > MOST_BYTES {
            self.left_out += 1;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Returns the text, with a word about what was left out.
    pub(super) fn finish(mut self) -> String {
        if self.left_out > 0 {
            self.text.push_str(&format!("({} more lines are left out)\n", self.left_out));
        }
        self.text
    }
}

/// Returns a text as the result of a tool.
pub(super) fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// Returns the result of a tool that could not do what was asked. The model reads it.
pub(super) fn failed(error: &OperationError) -> CallToolResult {
    let text = match (error, advice(error)) {
        (OperationError::ReadOnly, _) => READ_ONLY.to_owned(),
        (_, Some(advice)) => format!("{}; {advice}", error.problem().detail),
        (_, None) => error.problem().detail,
    };
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// Returns what a model may do about something that is not there.
fn advice(error: &OperationError) -> Option<&'static str> {
    let OperationError::Store(error) = error else { return None };
    let is_about = |name| error.is_not_found() && error.get(name).is_some();
    // The error of a message or a branch may name its chat as well.
    [
        ("message", "search_history finds messages, and read_messages shows their numbers and ids"),
        ("message of", "the chat is empty"),
        ("memory", "give the id as `recall` printed it"),
        ("scope", "leave `scope` out, or give it as an answer of `forget` printed it"),
        ("branch", "leave `branch` out for the active one"),
        ("chat", "list_chats lists those that there are"),
    ]
    .into_iter()
    .find_map(|(name, advice)| is_about(name).then_some(advice))
}

/// Returns a time to the minute, in UTC.
pub(super) fn time(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.as_micros()) {
        Ok(at) => {
            let shown = at.to_string();
            format!("{} UTC", shown.get(..16).unwrap_or(&shown).replace('T', " "))
        }
        Err(_) => "unknown time".to_owned(),
    }
}
