//! The element a reminder becomes, and how a message notes where it stands.

use std::sync::LazyLock;

use context_core::Message;
use regex::Regex;
use serde::{Deserialize, Serialize};

/// The metadata key of what was folded into a message.
pub(super) const REMINDERS: &str = "reminders";
/// The source that a synthetic message of this module names.
pub(super) const SOURCE: &str = "reminder";

const OPEN: &str = "<system-reminder>";
const CLOSE: &str = "</system-reminder>";

/// Where a reminder stands in a message, in Unicode scalar values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) part: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<usize>,
    pub(super) start: usize,
    pub(super) end: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) once: Vec<String>,
}

/// What a synthetic message says of itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Synthetic {
    pub(super) source: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) once: Vec<String>,
}

/// The marks of a message, if it has any that this version reads.
pub(super) fn marks(message: &Message) -> Option<Vec<Mark>> {
    message.metadata.get(REMINDERS)?.parse().ok()
}

/// The element of a text. A tag of its own name inside the text is made visible, so that the
/// element ends where it ends.
pub(super) fn element(text: &str) -> String {
    static TAG: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)<(\s*/?\s*system-reminder)").expect("a fixed pattern"));
    format!("{OPEN}{}{CLOSE}", TAG.replace_all(text, "&lt;$1"))
}

/// Whether a text is one element and nothing else.
pub(super) fn is_element(text: &str) -> bool {
    let inner = text.strip_prefix(OPEN).and_then(|text| text.strip_suffix(CLOSE));
    inner.is_some_and(|inner| !inner.contains(CLOSE))
}
