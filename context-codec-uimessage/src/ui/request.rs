//! Whole conversations: a list of UIMessages, or an object that holds one under `messages`.

use std::sync::Arc;

use context_core::base::{DiagnosticCode, Severity};
use context_core::model::{LiftedRequest, LoweredRequest, WireError};
use context_core::{Diagnostic, Json, Message, MessageCodec, Metadata, ModelRequest, Part, Role};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::form::{Entries, JsonPath, is_object, list};
use super::lower::{self, MessageOut, Mode};
use super::{BODY_KEY, ID_KEY, PROVIDER, residual};

/// The key of a body for the messages.
const MESSAGES: &str = "messages";
/// The id of the UIMessage that a system prompt becomes.
const SYSTEM_ID: &str = "system";

/// The codec of conversations as UIMessages.
///
/// A body is a list of UIMessages, or an object that holds one under `messages`; its other keys are
/// kept under [`BODY_KEY`] and written again. The system prompt of a request becomes a first
/// UIMessage of that role. Other fields of a request, such as its tools, have no place and are left
/// out with a diagnostic.
#[derive(Clone, Copy, Debug, Default)]
pub struct UiMessageCodec;

impl MessageCodec for UiMessageCodec {
    fn name(&self) -> &'static str {
        PROVIDER
    }

    fn lower(&self, request: &ModelRequest) -> Result<LoweredRequest, WireError> {
        match write(request, Mode::Send) {
            (Some(body), diagnostics) => Ok(LoweredRequest::new(body, diagnostics)),
            (None, _) => Err(WireError::NothingToSend),
        }
    }

    fn lower_source(&self, request: &ModelRequest) -> LoweredRequest {
        let (body, diagnostics) = write(request, Mode::Source);
        LoweredRequest::new(
            body.unwrap_or_else(|| context_codec_kit::wire::array(&[])),
            diagnostics,
        )
    }

    fn lift(&self, body: &Json) -> Result<LiftedRequest, WireError> {
        let raw = body.as_raw();
        let mut request = ModelRequest::default();
        let top = JsonPath::Top;
        let (messages, path) = if is_object(raw) {
            let entries = Entries::read(raw, &top)?;
            let rest =
                entries.rest(&[MESSAGES]).unwrap_or_else(|| context_codec_kit::wire::object([]));
            request.metadata.insert(BODY_KEY, rest);
            let messages = entries
                .value(MESSAGES)
                .ok_or_else(|| WireError::Missing { path: MESSAGES.to_owned() })?;
            (messages, top.key(MESSAGES))
        } else {
            (raw, top)
        };
        let mut diagnostics = Vec::new();
        for (index, message) in list(messages, &path)?.into_iter().enumerate() {
            let messages = residual::message(message, &path.item(index), &mut diagnostics)?;
            request.messages.extend(messages.into_iter().map(Arc::new));
        }
        Ok(LiftedRequest::new(request, diagnostics))
    }
}

/// Writes the body, or `None` if it would be empty and is not written for its source.
fn write(request: &ModelRequest, mode: Mode) -> (Option<Json>, Vec<Diagnostic>) {
    let system = (!request.system.is_empty()).then(|| {
        let parts = request.system.iter().cloned().map(Part::Text);
        Message::new(Role::System, parts).with_metadata(Metadata::default().with(ID_KEY, SYSTEM_ID))
    });
    let messages: Vec<&Message> =
        system.iter().chain(request.messages.iter().map(Arc::as_ref)).collect();
    let (written, mut diagnostics) = lower::write(&messages, mode, usize::from(system.is_some()));
    diagnostics.extend(unsupported_fields(request));
    if written.is_empty() && mode == Mode::Send {
        return (None, diagnostics);
    }
    let others =
        request.metadata.get(BODY_KEY).filter(|json| json.as_str().trim_start().starts_with('{'));
    let body = Body { messages: &written, others: others.map(|others| Entries::of(Some(others))) };
    (Some(Json::from_serialize(&body).expect("text keys and JSON values")), diagnostics)
}

/// Returns the diagnostic for fields of a request besides its conversation.
fn unsupported_fields(request: &ModelRequest) -> Option<Diagnostic> {
    let fields = [
        ("model", request.model.is_some()),
        ("tools", !request.tools.is_empty()),
        ("tool_choice", request.tool_choice.is_some()),
        ("output", request.output.is_some()),
        ("max_output_tokens", request.max_output_tokens.is_some()),
        ("temperature", request.temperature.is_some()),
        ("stream", request.stream.is_some()),
    ];
    let fields: Vec<_> =
        fields.into_iter().filter_map(|(name, is_set)| is_set.then_some(name)).collect();
    let (code, severity) = (DiagnosticCode::Unrepresentable, Severity::Info);
    let message = format!("left out: the form holds a conversation, not {}", fields.join(", "));
    (!fields.is_empty()).then(|| Diagnostic::new(code, severity, "request", message))
}

/// A body.
struct Body<'a> {
    messages: &'a [MessageOut<'a>],
    /// The other keys, if it is an object.
    others: Option<Entries<'a>>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(others) = &self.others else { return self.messages.serialize(serializer) };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(MESSAGES, self.messages)?;
        for (key, value) in others.iter().filter(|(key, _)| *key != MESSAGES) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
