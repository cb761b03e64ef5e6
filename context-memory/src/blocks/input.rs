//! The inputs of the tools.

use context_core::Json;
use context_core::message::ToolInput;
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct View {
    pub(super) block: Option<String>,
    pub(super) version: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Insert {
    pub(super) block: String,
    pub(super) text: String,
    pub(super) line: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replace {
    pub(super) block: String,
    pub(super) old: String,
    pub(super) new: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Delete {
    pub(super) block: String,
}

/// The number of characters of a parse error that are reported.
const LONGEST: usize = 300;

/// Parses an input, or returns the reason why it is invalid.
pub(super) fn read<T: DeserializeOwned>(input: &ToolInput) -> Result<T, String> {
    let json: &Json = match input {
        ToolInput::Json(json) => json,
        ToolInput::Invalid(_) => return Err("the input is not JSON".to_owned()),
    };
    json.parse().map_err(|error| {
        let message: String = error.to_string().chars().take(LONGEST).collect();
        format!("the input does not fit the tool: {message}")
    })
}
