//! A check of whether a provider accepts a body or a request, without a call.
//!
//! [`check_body`] reads a body as the provider would and returns every [`Violation`] with its path.
//! [`check_request`] lowers a request with a codec and checks the result, so that it tells both
//! halves: what the codec repairs or leaves out, and which rules the body breaks nevertheless.
//!
//! The rules are those that the published types of the official clients express (unknown keys
//! included), and those that types cannot express: every call has its result, ids and names use
//! allowed characters, cache breakpoints stand at allowed places. The rules are written a second
//! time here and share no code with the codecs, so that each finds the mistakes of the other.
//!
//! The schemas are data, in `provider_rules/forms`: names and values from the installed Python
//! packages that each file names. A provider without a published rule is not checked for it. Where
//! rules differ between accounts or versions, the stricter one counts: a body that passes should be
//! accepted everywhere, and a body with keys of a beta may be accepted although it has violations.
//!
//! Limits of a model are no rules of its provider: the window, the largest output, the number and
//! the size of images are not checked, nor is a signature. A check costs about one walk over the
//! body, and [`check_request`] the lowering as well.

mod anthropic;
mod body_path;
mod forms;
mod gemini;
mod openai;
mod responses;
mod values;

use std::fmt;

use context_core::model::{LoweredRequest, WireError};
use context_core::{MessageCodec, ModelRequest};
use serde::Serialize;
use serde_json::Value;

/// The names of the providers whose rules are known. They are the names of the codecs.
pub const PROVIDERS: [&str; 4] = ["openai", "openai-responses", "anthropic", "gemini"];

/// A rule that a body breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Violation {
    /// The position in the body, such as `messages[3].content[0].text`.
    pub path: String,
    /// The rule.
    pub rule: Rule,
    /// A human-readable message.
    pub message: String,
}

impl Violation {
    /// Creates a violation, for rules of a provider that this module does not know.
    pub fn new(path: impl Into<String>, rule: Rule, message: impl Into<String>) -> Self {
        Self { path: path.into(), rule, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?}): {}", self.path, self.rule, self.message)
    }
}

/// The kind of a [`Violation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rule {
    /// The provider is not known.
    Provider,
    /// A value has a type or a value that the schema does not allow.
    Type,
    /// A required key is missing.
    Missing,
    /// A key is not part of the schema.
    UnknownKey,
    /// A list without items, or a text without words.
    Empty,
    /// A role is not allowed at its position.
    Role,
    /// A call without its result, a result without its call, or a pair that is separated.
    Pairing,
    /// An id occurs twice.
    Duplicate,
    /// An id has characters or a length that is not allowed.
    Id,
    /// A name has characters or a length that is not allowed.
    Name,
    /// There are too many cache breakpoints, or they are in a wrong order.
    CacheMark,
    /// A thinking block where none is allowed, or without the fields that make it valid.
    Thinking,
    /// The input of a call is not an object.
    ToolInput,
    /// Media whose content does not match its media type, or whose type is not accepted.
    Media,
    /// A block is not allowed at its position.
    Place,
    /// A list of tools and a tool choice that do not fit together.
    Tools,
}

/// Returns every violation in the body of a request to a provider, in the order of the body as far
/// as possible. Empty if the provider accepts the body. Providers have the names of their codecs,
/// [`PROVIDERS`]; any other name is one violation of [`Rule::Provider`].
///
/// ```
/// use context_codec_kit::provider_rules::{Rule, check_body};
///
/// let body = serde_json::json!({"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [
///     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "10:05"}]},
/// ]});
/// let violations = check_body("anthropic", &body); // a result without its call
/// assert_eq!(violations.len(), 1);
/// assert_eq!((violations[0].rule, violations[0].path.as_str()), (Rule::Pairing, "messages[0]"));
/// ```
pub fn check_body(provider: &str, body: &Value) -> Vec<Violation> {
    match provider {
        "openai" => openai::check(body),
        "openai-responses" => responses::check(body),
        "anthropic" => anthropic::check(body),
        "gemini" => gemini::check(body),
        _ => vec![Violation::new(
            "",
            Rule::Provider,
            format!("{provider:?} is none of {}", PROVIDERS.join(", ")),
        )],
    }
}

/// The result of [`check_request`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct RequestCheck {
    /// The body that would be sent, and the repairs with the paths of the request's messages.
    pub lowered: LoweredRequest,
    /// The violations in that body, with paths in it. Empty if the provider accepts it.
    pub violations: Vec<Violation>,
}

impl RequestCheck {
    /// Whether the provider accepts the request after the codec's repairs.
    pub fn is_accepted(&self) -> bool {
        self.violations.is_empty()
    }

    /// Whether the provider accepts the request and nothing has to be repaired or left out.
    pub fn is_accepted_unchanged(&self) -> bool {
        self.is_accepted() && self.lowered.diagnostics.is_empty()
    }
}

/// Checks a request, or a history in a [`ModelRequest`], against the rules of the provider that the
/// codec writes for. Nothing is sent.
///
/// A codec repairs the history before it writes the body, so a damaged history is accepted as a
/// rule, with repairs. What a codec does not repair stays a violation: a missing model, tools with
/// wrong schemas, options that were set by hand. Fails with the error of the codec if nothing is
/// left to send.
pub fn check_request(
    codec: &(impl MessageCodec + ?Sized),
    request: &ModelRequest,
) -> Result<RequestCheck, WireError> {
    let lowered = codec.lower(request)?;
    let violations = match lowered.body.parse() {
        Ok(body) => check_body(codec.name(), &body),
        Err(error) => vec![Violation::new("", Rule::Type, error.to_string())],
    };
    Ok(RequestCheck { lowered, violations })
}
