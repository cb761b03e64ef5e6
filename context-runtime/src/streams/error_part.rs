//! Recognition of error parts of the AI SDK's UI message stream.

use std::borrow::Cow;

use serde::Deserialize;

/// The fields of a part that say whether it is an error.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, rename = "errorText")]
    text: Cow<'a, str>,
}

/// Returns the text of an error part. `None` for any other chunk. Chunks that do not mention the
/// field are not parsed.
pub(super) fn error_text(chunk: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(chunk).ok().filter(|text| text.contains("\"errorText\""))?;
    let event = text.trim();
    let json = event.strip_prefix("data:").unwrap_or(event);
    let part: Fields<'_> = serde_json::from_str(json).ok()?;
    (part.kind == "error").then(|| part.text.into_owned())
}
