//! Detection of refused reasoning and refused tool call pairs in provider messages.

use super::pattern::occurs;
use context_core::model::ModelErrorCode as Code;

/// Folded wordings for refused signatures or encrypted reasoning.
const THOUGHTS: [&str; 12] = [
    // Anthropic
    "signature in thinking block",
    "signature in redacted thinking block",
    "thinking blocks*cannot be modified",
    "thinking*data is not valid",
    // Google
    "thought signature is not valid",
    "invalid thought signature",
    "corrupted thought signature",
    // OpenAI
    "encrypted content*could not be verified",
    "encrypted content*could not be decrypted",
    "of type reasoning was provided without its required following item",
    // Others
    "reasoning content is not supported",
    "property reasoning content is unsupported",
];

/// Folded wordings for unmatched tool calls and results.
const PAIRS: [&str; 16] = [
    // Anthropic, Amazon
    "tool use ids were found without tool result",
    "unexpected tool use id found in tool result",
    "tool result*corresponding tool use",
    "tool use ids must be unique",
    "multiple tool result blocks with id",
    "number of tool result blocks*exceeds",
    // OpenAI and providers with its wordings
    "role tool must be a response to",
    "tool calls must be followed by tool messages",
    "did not have response messages",
    "no tool output found for function call",
    "no tool call found for function call output",
    // Google
    "function response parts",
    "function call turn comes immediately after",
    "function response turn comes immediately after",
    // Mistral
    "not the same number of function calls and responses",
    // Cohere
    "tool call id*not found in previous tool calls",
];

/// Returns whether reasoning is refused, and whether tool calls and results are. Only errors that
/// may be about an invalid request qualify.
pub(super) fn of(code: Code, words: &str) -> (bool, bool) {
    let invalid = matches!(code, Code::InvalidRequest | Code::Server | Code::Unknown);
    let any_occurs =
        |wordings: &[&str]| invalid && wordings.iter().any(|wording| occurs(words, wording));
    (any_occurs(&THOUGHTS), any_occurs(&PAIRS))
}

#[cfg(test)]
mod tests {
    use super::super::pattern::fold;
    use super::*;

    #[test]
    fn wordings_are_folded() {
        for wording in THOUGHTS.iter().chain(&PAIRS) {
            assert_eq!(fold(wording), *wording);
        }
    }
}
