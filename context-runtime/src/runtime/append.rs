//! Appending tool results unchanged.

use std::sync::Arc;

use context_core::runtime::{ToolResultInput, ToolResultOutput};

/// Returns the conversation with results and supplements appended unchanged.
pub(super) fn append(input: ToolResultInput) -> ToolResultOutput {
    let mut output = ToolResultOutput::default();
    output.appended =
        std::iter::once(input.tool_result_message).chain(input.supplements).map(Arc::new).collect();
    output.messages = input.messages;
    output.messages.extend(output.appended.iter().map(Arc::clone));
    output
}
