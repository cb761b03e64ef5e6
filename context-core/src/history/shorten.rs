//! Previews of long texts: the beginning, the end, and a reference to the full text.

use crate::base::{BlobId, JsonMap};
use crate::{Json, ToolResult};

/// Returns the first `head` and the last `tail` bytes of a text, cut at character boundaries.
/// `None` if the text is not longer than both together.
///
/// ```
/// use context_core::history::shorten::ends;
///
/// assert_eq!(ends("0123456789", 3, 2), Some(("012", "89")));
/// assert_eq!(ends("ééé", 3, 3), None);
/// assert_eq!(ends("éééé", 3, 3), Some(("é", "é")));
/// ```
pub fn ends(text: &str, head: usize, tail: usize) -> Option<(&str, &str)> {
    if text.len() <= head.saturating_add(tail) {
        return None;
    }
    let (mut end, mut start) = (head, text.len() - tail);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    while !text.is_char_boundary(start) {
        start += 1;
    }
    Some((&text[..end], &text[start..]))
}

/// The metadata key of a result whose full text was spilled to a blob.
const SPILLED: &str = "spilled";
/// Maximum length of the line with the reference, in bytes.
const MAX_LINE: usize = 512;

/// Returns the line of a spilled result that refers to its full text. `None` if the result was not
/// spilled. Code that shortens `text`, the text of the result, must keep this line, because it is
/// the only way to find the full text again.
pub fn kept_at(result: &ToolResult, text: &str) -> Option<String> {
    let spilled = result.metadata.get(SPILLED)?;
    let named =
        spilled.parse::<JsonMap>().ok().and_then(|facts| facts.get("blob").and_then(Json::to_text));
    let named = named.and_then(|name| BlobId::from_reference(&name).or_else(|| name.parse().ok()));
    let blob = named.or_else(|| mentioned(text))?.to_reference();
    let line = text.lines().find(|line| line.len() <= MAX_LINE && line.contains(&blob));
    Some(line.map_or_else(|| format!("[All of it is kept as {blob}]"), str::to_owned))
}

fn mentioned(text: &str) -> Option<BlobId> {
    const DIGITS: usize = 64;
    let mut found = text.match_indices(BlobId::SCHEME);
    found.find_map(|(at, scheme)| BlobId::from_reference(text.get(at..at + scheme.len() + DIGITS)?))
}
