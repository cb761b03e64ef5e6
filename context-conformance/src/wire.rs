//! Rules of providers about requests, as a witness of its own: it shares nothing with the codecs.
//!
//! [`check_request`] reads a body as a provider would and says everything that is wrong with it:
//! what the published types of the official clients do not allow (unknown keys included), and what
//! those types cannot say, such as that every call has its result, that ids and names have the
//! right letters, or where a cache mark may stand.
//!
//! The forms are data, in `wire/forms`: names and values of the installed Python packages that each
//! file names. Where a provider has no published rule, nothing is asked. Where rules differ between
//! accounts or versions, the stricter one counts: a body that passes should be taken everywhere.

mod anthropic;
mod forms;
mod gemini;
mod openai;
mod opinion;
mod place;
mod responses;
mod values;

use std::fmt;

pub use opinion::{NoOpinion, second_opinion};
use serde::Serialize;
use serde_json::Value;

/// The names under which [`check_request`] knows providers: those of the codecs.
pub const PROVIDERS: [&str; 4] = ["openai", "openai-responses", "anthropic", "gemini"];

/// A rule that a body breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Violation {
    /// Where in the body, such as `messages[3].content[0].text`.
    pub path: String,
    /// The rule.
    pub rule: Rule,
    /// A human-readable message.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?}): {}", self.path, self.rule, self.message)
    }
}

/// What a [`Violation`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rule {
    /// The provider is not known.
    Provider,
    /// A value has another type than the form allows, or is none of the values it allows.
    Type,
    /// A key that must be there is not.
    Missing,
    /// A key that the form does not have.
    UnknownKey,
    /// Something without content: a list without items, a text without words.
    Empty,
    /// A role that may not stand where it stands.
    Role,
    /// A call without its result, a result without its call, or one apart from the other.
    Pairing,
    /// An id that is there twice.
    Duplicate,
    /// An id with letters or of a length that is not allowed.
    Id,
    /// A name with letters or of a length that is not allowed.
    Name,
    /// A cache mark too many, or in a wrong order.
    CacheMark,
    /// A thought where none may be, or without what makes it valid.
    Thinking,
    /// An input of a call that is no object.
    ToolInput,
    /// Media that is not what it says, or of a type that is not taken.
    Media,
    /// A block where it may not be.
    Place,
    /// A list of tools, or a choice of them, that does not fit together.
    Tools,
}

/// Everything that is wrong with the body of a request to a provider, in the order of the body as
/// far as possible. Providers go by the names of their codecs, [`PROVIDERS`].
///
/// ```
/// use context_conformance::wire::check_request;
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
