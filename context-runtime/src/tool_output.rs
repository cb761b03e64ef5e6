//! The text of a tool's output, and the blob that it is spilled into.

use std::borrow::Cow;

use context_core::base::BlobId;
use context_core::{Part, ToolResult};

/// Returns the texts of an output, joined by line feeds. `None` if there are none.
pub(crate) fn joined(output: &[Part]) -> Option<Cow<'_, str>> {
    let mut texts = output.iter().filter_map(|part| match part {
        Part::Text(text) => Some(&*text.text),
        _ => None,
    });
    let first = texts.next()?;
    Some(texts.fold(Cow::Borrowed(first), |mut all, text| {
        let joined = all.to_mut();
        joined.push('\n');
        joined.push_str(text);
        all
    }))
}

/// Returns the name of the blob that a spill of a result makes.
pub(crate) fn spilled_blob(result: &ToolResult) -> Option<BlobId> {
    joined(&result.output).map(|text| BlobId::of(text.as_bytes()))
}
