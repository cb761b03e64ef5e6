//! UIMessages as message fragments that keep their ids.

use std::collections::HashSet;

use context_core::base::{DiagnosticCode, Severity, limits};
use context_core::model::WireError;
use context_core::{Diagnostic, Fragment, Json, MessageCodec};

use super::form::{Entries, JsonPath, is_object};
use super::{ID_KEY, UiMessageCodec, residual};

/// The fragments of UIMessages.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct UiFragments {
    /// The message fragments, in order.
    pub fragments: Vec<Fragment>,
    /// Content that a message cannot hold, and ids that could not be kept.
    pub diagnostics: Vec<Diagnostic>,
}

/// Lifts a UIMessage, a list of them, or an object that holds one under `messages`, to message
/// fragments with the ids of the UIMessages. When the fragments are set and saved, the ids are
/// those of the stored messages.
///
/// An assistant's UIMessage of several steps becomes several messages: the first has its id `m`,
/// the others have `m/2`, `m/3` and so on. So a UIMessage that is set again is recognized.
/// An id that is no text, empty, too long or used before in the list is not kept: the engine gives
/// the message another one, and a diagnostic says so. An id that the chat has already is, as with
/// any message, the same message, or an edit of it if the content differs.
///
/// [`lower`](super::lower) writes the id of the UIMessage in any case.
///
/// ```
/// use context_codec_uimessage::ui;
/// use context_core::Json;
///
/// let sent = Json::from_text(r#"{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "A train?"}]}"#)?;
/// let fragments = ui::fragments(&sent)?.fragments;
/// assert_eq!(fragments[0].id().map(|id| id.as_str()), Some("m1"));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub fn fragments(original: &Json) -> Result<UiFragments, WireError> {
    let raw = original.as_raw();
    let is_one = is_object(raw) && Entries::read(raw, &JsonPath::Top)?.value("messages").is_none();
    let (messages, mut diagnostics) = if is_one {
        let mut diagnostics = Vec::new();
        let messages = residual::message(raw, &JsonPath::Top, &mut diagnostics)?;
        (messages.into_iter().map(Into::into).collect(), diagnostics)
    } else {
        let lifted = UiMessageCodec.lift(original)?;
        (lifted.request.messages, lifted.diagnostics)
    };
    let mut used = HashSet::new();
    let (mut current, mut number) = (None, 0);
    let mut fragments = Vec::with_capacity(messages.len());
    for (position, message) in messages.into_iter().enumerate() {
        let mut refuse = |code, reason: String| {
            let path = format!("fragments[{position}]");
            let text = format!("its id {reason}; the message gets another one");
            diagnostics.push(Diagnostic::new(code, Severity::Warning, path, text));
        };
        // Only the first message of a UIMessage names the id. The others follow it.
        let first = message.metadata.get(ID_KEY);
        if let Some(id) = first {
            (current, number) = (id.to_text(), 0);
            if current.is_none() && id.as_str() != "null" {
                refuse(DiagnosticCode::BrokenInput, "is no text".to_owned());
            }
        }
        number += 1;
        let id = current.as_ref().map(|id| match number {
            1 => id.clone(),
            _ => format!("{id}/{number}"),
        });
        let fragment = Fragment::from(message);
        fragments.push(match id {
            None => fragment,
            Some(id) if limits::check_id("ui_fragments", "message", &id).is_err() => {
                refuse(DiagnosticCode::BrokenInput, format!("has {} bytes", id.len()));
                fragment
            }
            Some(id) if used.contains(&id) => {
                refuse(DiagnosticCode::DuplicateName, format!("{id:?} was used before"));
                current = None;
                fragment
            }
            Some(id) => {
                used.insert(id.clone());
                fragment.with_id(id)
            }
        });
    }
    Ok(UiFragments { fragments, diagnostics })
}
