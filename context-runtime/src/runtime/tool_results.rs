//! Results of tools, cut to limits.

use context_core::{Result, ToolResultInput, ToolResultOutput};

use super::append::append;
use super::parts::Parts;

/// Puts results behind a conversation.
pub(super) async fn apply(_parts: &Parts, input: ToolResultInput) -> Result<ToolResultOutput> {
    input.cancel.check("apply_tool_results")?;
    Ok(append(input))
}
