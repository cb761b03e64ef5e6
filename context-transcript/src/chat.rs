//! A conversation of a file as a chat.

use std::sync::Arc;

use context_core::base::display::preview;
use context_core::base::{DiagnosticCode, Severity};
use context_core::message::Data;
use context_core::{Diagnostic, Json, Node, Part, Role};

use crate::{TranscriptSource, Tree};

/// The number of characters of a title that is made of a message.
const TITLE: usize = 60;

/// A conversation of a file as a chat that is ready to be written to a store.
#[derive(Debug)]
#[non_exhaustive]
pub struct TranscriptChat {
    /// The properties of the file. The chat keeps them in its metadata, under
    /// [`TranscriptSource::KEY`], so that an export gives equal values.
    pub source: TranscriptSource,
    /// The title, for people.
    pub title: Option<String>,
    /// The messages and branches.
    pub tree: Tree,
    /// Content that was kept without being understood.
    pub diagnostics: Vec<Diagnostic>,
}

/// Returns the start of the first user message.
pub(crate) fn title<'a>(nodes: impl IntoIterator<Item = &'a Arc<Node>>) -> Option<String> {
    let mut texts = nodes
        .into_iter()
        .filter(|node| node.role() == Some(Role::User))
        .filter_map(|node| title_of(&node.message().ok()?.plain_text()));
    texts.next()
}

/// Returns the start of a text as a title, or `None` for a blank text.
pub(crate) fn title_of(text: &str) -> Option<String> {
    Some(preview(text, TITLE)).filter(|title| !title.is_empty())
}

/// Returns a warning about a message.
pub(crate) fn warning(
    code: DiagnosticCode,
    path: String,
    message: impl Into<String>,
) -> Diagnostic {
    Diagnostic::new(code, Severity::Warning, path, message)
}

/// Returns a data part that only this crate can read.
pub(crate) fn data(name: String, value: Json) -> Part {
    Part::Data(Data { name, value })
}
