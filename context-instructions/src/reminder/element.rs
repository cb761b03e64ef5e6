//! The element that a reminder becomes, and the metadata that records where it stands.

use std::sync::LazyLock;

use context_core::Message;
use regex::Regex;
use serde::{Deserialize, Serialize};

/// The metadata key of the reminders folded into a message.
pub(super) const REMINDERS: &str = "reminders";
/// The source that synthetic messages of this module state.
pub(super) const SOURCE: &str = "reminder";

const OPEN: &str = "<system-reminder>";
const CLOSE: &str = "</system-reminder>";

/// The position of a reminder in a message, in Unicode scalar values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) part: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<usize>,
    pub(super) start: usize,
    pub(super) end: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) once: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
}

/// The metadata of a synthetic message.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SyntheticMetadata {
    pub(super) source: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) once: Vec<String>,
}

/// Returns the marks of a message, if it has any that this version can read.
pub(super) fn marks(message: &Message) -> Option<Vec<Mark>> {
    message.metadata.get(REMINDERS)?.parse().ok()
}

/// Returns the element of a text. Tags of the same name inside the text are escaped, so that the
/// text cannot end the element.
pub(super) fn element(text: &str) -> String {
    static TAG: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)<(\s*/?\s*system-reminder)").expect("a fixed pattern"));
    format!("{OPEN}{}{CLOSE}", TAG.replace_all(text, "&lt;$1"))
}

/// Returns whether a text is exactly one element.
pub(super) fn is_element(text: &str) -> bool {
    let inner = text.strip_prefix(OPEN).and_then(|text| text.strip_suffix(CLOSE));
    inner.is_some_and(|inner| !inner.contains(CLOSE))
}
