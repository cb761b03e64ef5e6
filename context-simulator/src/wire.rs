//! The request rules of providers, as an independent oracle: this module shares no code with the
//! codecs.
//!
//! [`check_request`] reads a body as a provider would and returns every violation. It checks what
//! the published types of the official clients do not allow (unknown keys included), and what those
//! types cannot express: every call has its result, ids and names use allowed characters, cache
//! breakpoints stand at allowed places.
//!
//! The schemas are data, in `wire/forms`: names and values from the installed Python packages that
//! each file names. A provider without a published rule is not checked for it. Where rules differ
//! between accounts or versions, the stricter one counts: a body that passes should be accepted
//! everywhere.

mod anthropic;
mod body_path;
mod forms;
mod gemini;
mod official_clients;
mod openai;
mod responses;
mod values;

use std::fmt;

pub use official_clients::{OfficialClientsError, check_with_official_clients};
use serde::Serialize;
use serde_json::Value;

pub(crate) use gemini::BESIDE_CACHED_CONTENT;

/// The names of the providers that [`check_request`] knows. They are the names of the codecs.
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
/// as possible. Providers have the names of their codecs, [`PROVIDERS`].
///
/// ```
/// use context_simulator::wire::check_request;
///
/// let body = serde_json::json!({"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [
///     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "10:05"}]},
/// ]});
/// assert_eq!(check_request("anthropic", &body).len(), 1); // a result without its call
/// ```
pub fn check_request(provider: &str, body: &Value) -> Vec<Violation> {
    match provider {
        "openai" => openai::check(body),
        "openai-responses" => responses::check(body),
        "anthropic" => anthropic::check(body),
        "gemini" => gemini::check(body),
        _ => vec![Violation {
            path: String::new(),
            rule: Rule::Provider,
            message: format!("{provider:?} is none of {}", PROVIDERS.join(", ")),
        }],
    }
}
