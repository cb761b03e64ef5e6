//! Reading of stream events. Everything that can fail is done here, before an answer changes, so an
//! event counts as a whole or not at all. The module `assembly` decides what an event adds to an
//! answer.

use context_codec_kit::wire;
use context_codec_kit::wire::Entries;
use context_core::base::{DiagnosticCode, Severity};
use context_core::message::OpaqueBlock;
use context_core::model::{ModelCodec, WireError};
use context_core::{Diagnostic, Json, ModelError, Part};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::form::{Call, PartForm, RawParts, take};
use super::lift::{Reader, json_of, key_path};
use super::live::Live;
use super::usage::UsageForm;
use super::{GenerateCodec, PROVIDER};

/// The content of an event.
#[derive(Default)]
pub(super) struct Event<'a> {
    /// An error, which replaces everything else.
    pub(super) error: Option<ModelError>,
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) usage: Option<UsageForm>,
    pub(super) feedback: Option<Json>,
    pub(super) blocked: Option<String>,
    pub(super) live: Option<Live<'a>>,
    pub(super) candidate: Option<Candidate<'a>>,
    /// Diagnostics for content that was left out.
    pub(super) notes: Vec<Diagnostic>,
}

/// One of the answers. Only the first becomes a message.
pub(super) struct Candidate<'a> {
    pub(super) pieces: Vec<Piece<'a>>,
    pub(super) finish: Option<String>,
    pub(super) facts: Vec<(String, Json)>,
}

/// A part, or a piece of one.
pub(super) enum Piece<'a> {
    Part(Part, Vec<Diagnostic>),
    /// A piece of a call whose input arrives in pieces.
    OfCall(Box<PartForm<'a>>),
}

#[derive(Deserialize)]
struct ContentForm<'a> {
    #[serde(borrow)]
    parts: Option<Vec<PartForm<'a>>>,
}

#[derive(Deserialize)]
struct ErrorForm {
    code: Option<u16>,
}

impl<'a> Event<'a> {
    pub(super) fn read(json: &'a str, path: &str) -> Result<Self, WireError> {
        let mut map: Entries<'a> = wire::read(json, path)?;
        if let Some(error) = take(&mut map, "error") {
            let status =
                serde_json::from_str::<ErrorForm>(error.get()).ok().and_then(|error| error.code);
            return Ok(Self {
                error: Some(GenerateCodec.lift_error(status, json)),
                ..Self::default()
            });
        }
        let mut event = Self {
            id: text(&mut map, "responseId", path)?,
            model: text(&mut map, "modelVersion", path)?,
            ..Self::default()
        };
        if let Some(usage) = take(&mut map, "usageMetadata") {
            event.usage = Some(wire::read(usage.get(), &key_path(path, "usageMetadata"))?);
        }
        if let Some(feedback) = take(&mut map, "promptFeedback") {
            let path = key_path(path, "promptFeedback");
            let mut map: Entries<'_> = wire::read(feedback.get(), &path)?;
            event.feedback = Some(json_of(feedback));
            event.blocked = text(&mut map, "blockReason", &path)?;
        }
        let (content, calls) = (take(&mut map, "serverContent"), take(&mut map, "toolCall"));
        if content.is_some() || calls.is_some() {
            event.live = Some(Live::read(content, calls, path)?);
        }
        if let Some(candidates) = take(&mut map, "candidates") {
            event.candidates(candidates, &key_path(path, "candidates"))?;
        }
        Ok(event)
    }

    fn candidates(&mut self, candidates: &'a RawValue, path: &str) -> Result<(), WireError> {
        for (i, raw) in
            wire::read::<Vec<&'a RawValue>>(candidates.get(), path)?.into_iter().enumerate()
        {
            let path = format!("{path}[{i}]");
            let mut map: Entries<'a> = wire::read(raw.get(), &path)?;
            if take(&mut map, "index").is_some_and(|index| index.get() != "0") || i > 0 {
                let reason = "left out: only the first candidate becomes a message";
                let (code, severity) = (DiagnosticCode::Unrepresentable, Severity::Warning);
                self.notes.push(Diagnostic::new(code, severity, path, reason));
                continue;
            }
            let finish = text(&mut map, "finishReason", &path)?;
            let pieces = match take(&mut map, "content") {
                Some(content) => pieces(content.get(), &key_path(&path, "content"))?,
                None => Vec::new(),
            };
            let facts =
                map.into_iter().map(|(key, value)| (key.0.into_owned(), json_of(value))).collect();
            self.candidate = Some(Candidate { pieces, finish, facts });
        }
        Ok(())
    }

    /// Returns whether the provider ends the answer with this event.
    pub(super) fn ends(&self) -> bool {
        self.error.is_some()
            || self.blocked.is_some()
            || self.live.as_ref().is_some_and(|live| live.finish.is_some())
            || self.candidate.as_ref().is_some_and(|candidate| candidate.finish.is_some())
    }
}

/// Reads a content.
pub(super) fn pieces<'a>(json: &'a str, path: &str) -> Result<Vec<Piece<'a>>, WireError> {
    let content: ContentForm<'a> = wire::read(json, path)?;
    let forms = content.parts.unwrap_or_default();
    let (mut pieces, mut raw) = (Vec::with_capacity(forms.len()), None);
    for (i, form) in forms.into_iter().enumerate() {
        let is_piece = |call: &Call<'_>| {
            call.partial.is_some() || call.will_continue == Some(true) || call.name.is_none()
        };
        if form.call.as_ref().is_some_and(is_piece) {
            pieces.push(Piece::OfCall(Box::new(form)));
            continue;
        }
        let mut reader = Reader::default();
        let part = match reader.part(form, i, &|| format!("{path}.parts[{i}]"))? {
            Some(part) => part,
            None => {
                let raw_parts = match &mut raw {
                    Some(raw_parts) => raw_parts,
                    None => raw.insert(wire::read::<RawParts<'_>>(json, path)?.parts),
                };
                let value = raw_parts.get(i).map_or_else(wire::null, |raw| json_of(raw));
                Part::Opaque(OpaqueBlock { provider: PROVIDER.to_owned(), value })
            }
        };
        pieces.push(Piece::Part(part, reader.diagnostics));
    }
    Ok(pieces)
}

fn text(map: &mut Entries<'_>, key: &str, path: &str) -> Result<Option<String>, WireError> {
    let read = |raw: &RawValue| {
        let json = json_of(raw);
        wire::text(&json).ok_or_else(|| wire::wrong_type(&json, &key_path(path, key), "a string"))
    };
    take(map, key).map(read).transpose()
}
