//! Requests in the form of their source.

use context_codec_kit::JsonPatch;
use context_codec_kit::wire::{outdated, same_settings};
use context_core::base::JsonMap;
use context_core::model::LoweredRequest;
use context_core::{Diagnostic, Json, ModelRequest};
use serde::Serialize;

use super::super::form::{ExtraEntries, Mode, WireMessage};
use super::super::lower::{BlockPosition, Writer};
use super::super::{BODY_KEY, PARALLEL_KEY, SOURCE_KEY, lower_source};
use super::envelope::{FullBody, plain, written};
use super::lift;

/// A message in the form of its source.
#[derive(Serialize)]
#[serde(untagged)]
enum Source<'a> {
    Plain(WireMessage<'a>),
    Patched(Json),
}

/// Writes the body in the form of its source.
pub(super) fn body(request: &ModelRequest) -> LoweredRequest {
    let mut writer = Writer::new(Mode::Source);
    let mut messages = Vec::with_capacity(request.messages.len());
    for (i, message) in request.messages.iter().enumerate() {
        if message.metadata.get(SOURCE_KEY).is_none() {
            writer.at = BlockPosition::Message(i);
            messages.extend(writer.message(message).map(Source::Plain));
            continue;
        }
        let lowered = lower_source(message);
        messages.extend(lowered.messages.into_iter().map(Source::Patched));
        writer.diagnostics.extend(lowered.diagnostics.into_iter().map(|mut diagnostic| {
            diagnostic.path = format!("messages[{i}].{}", diagnostic.path);
            diagnostic
        }));
    }
    let mut diagnostics = writer.diagnostics;
    let body = match patched(request) {
        None => super::super::json(&FullBody { envelope: &plain(request), messages: &messages }),
        Some(Ok(envelope)) => {
            super::super::json(&FullBody { envelope: &envelope, messages: &messages })
        }
        Some(Err(diagnostic)) => {
            diagnostics.push(diagnostic);
            super::super::json(&FullBody { envelope: &plain(request), messages: &messages })
        }
    };
    LoweredRequest::new(body, diagnostics)
}

/// Returns the envelope with the values that only its source has, if there are any and they still
/// fit.
fn patched(request: &ModelRequest) -> Option<Result<ExtraEntries<'static>, Diagnostic>> {
    let patch = JsonPatch::from(request.metadata.get(SOURCE_KEY)?.clone());
    let source = patch.apply(&written(request)).filter(|source| {
        lift::envelope(source.as_raw()).is_ok_and(|again| same_envelope(&again, request))
    });
    let entries: Option<JsonMap> = source.and_then(|source| source.parse().ok());
    let facts = entries
        .map(|map| ExtraEntries(map.into_iter().map(|(key, value)| (key.into(), value)).collect()));
    Some(facts.ok_or_else(|| outdated(SOURCE_KEY)))
}

/// Returns whether two requests are equal apart from their messages.
fn same_envelope(a: &ModelRequest, b: &ModelRequest) -> bool {
    a.model == b.model
        && a.system == b.system
        && a.stream == b.stream
        && same_settings(a, b, &[BODY_KEY, PARALLEL_KEY])
}
