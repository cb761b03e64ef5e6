//! The reasons for which a request is refused, independent of the provider's error text.

use std::time::Duration;

use context_codec_kit::provider_rules::Violation;

use super::fault::ProviderFault;

/// The reason for which a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The body is not JSON.
    NoJson,
    /// The body breaks a rule.
    Rule(Violation),
    /// The body has too many bytes.
    Body { most: u64 },
    /// The request does not fit the window. `output` is the requested output, if the provider
    /// counts it too.
    Window { input: u64, output: Option<u64>, window: u64 },
    /// The request asks for more output than the model writes.
    Output { asked: u64, most: u64 },
    /// There are too many images.
    Images { count: u64, most: u64 },
    /// An image has too many bytes.
    ImageBytes { path: String, bytes: u64, most: u64 },
    /// An image has too many pixels. `many` is set if the limit for many images applies.
    ImagePixels { path: String, most: u64, many: bool },
    /// There are too many requests.
    Rate { retry_after: Option<Duration> },
    /// The provider is overloaded.
    Overloaded,
    /// The provider has an internal error.
    Server,
    /// No content is stored under the name that the request gives.
    CachedContent,
    /// The signature of the thinking block at `path` is not the provider's.
    Signature { path: String },
}

impl Refusal {
    /// Returns the refusal of a provider that does not read the request.
    pub(super) fn unread(fault: ProviderFault) -> Self {
        match fault {
            ProviderFault::RateLimit { retry_after } => Self::Rate { retry_after },
            ProviderFault::Overloaded => Self::Overloaded,
            _ => Self::Server,
        }
    }
}

/// The problem with a pair of call and result, from a violation of the pairing rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pair<'a> {
    /// Calls without results: their ids.
    Unanswered(&'a str),
    /// A result without a call: its id.
    Unasked(&'a str),
    /// Any other problem.
    Other,
}

impl<'a> Pair<'a> {
    /// Parses the message of a violation.
    pub(super) fn of(violation: &'a Violation) -> Self {
        let message = violation.message.as_str();
        let behind = |front| message.split_once(front).map(|(_, rest)| rest);
        let unanswered = behind("without results: ").or_else(|| behind("without output: "));
        let quoted = || message.split('"').nth(1);
        match unanswered {
            Some(ids) => Self::Unanswered(ids),
            None if message.starts_with("a result of ") || message.starts_with("an output of ") => {
                quoted().map_or(Self::Other, Self::Unasked)
            }
            None => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use context_codec_kit::provider_rules::{Rule, check_body};

    fn pairing(provider: &str, body: serde_json::Value) -> Violation {
        let found = check_body(provider, &body);
        found.into_iter().find(|violation| violation.rule == Rule::Pairing).expect("a broken pair")
    }

    #[test]
    fn the_checkers_say_which_calls_are_alone() {
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "t", "input": {}});
        let asked = json!({"role": "user", "content": "q"});
        let alone = pairing(
            "anthropic",
            json!({"model": "m", "max_tokens": 1, "messages": [asked,
                {"role": "assistant", "content": [call("a"), call("b")]}]}),
        );
        assert_eq!(Pair::of(&alone), Pair::Unanswered("a, b"));
        let alone = pairing(
            "openai",
            json!({"model": "m", "messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]}),
        );
        assert_eq!(Pair::of(&alone), Pair::Unasked("c"));
        let call = json!({"type": "function_call", "call_id": "d", "name": "t", "arguments": "{}"});
        let alone = pairing("openai-responses", json!({"model": "m", "input": [call]}));
        assert_eq!(Pair::of(&alone), Pair::Unanswered("d"));
        let output = json!({"type": "function_call_output", "call_id": "e", "output": "x"});
        let alone = pairing("openai-responses", json!({"model": "m", "input": [output]}));
        assert_eq!(Pair::of(&alone), Pair::Unasked("e"));
        let alone = pairing(
            "gemini",
            json!({"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "t", "response": {}}}]}]}),
        );
        assert_eq!(Pair::of(&alone), Pair::Other);
    }
}
