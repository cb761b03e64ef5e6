//! Masking in messages.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use context_core::message::{Data, Media, MediaSource, OpaqueBlock, Reasoning, Text, ToolInput};
use context_core::{Json, Message, Metadata, Part, ToolCall, ToolResult};

use crate::finder::SecretFinder;
use crate::report::{MaskReport, SecretCounts, UnmaskablePlace};

/// The greatest number of results within results.
const DEEPEST: usize = 16;

impl SecretFinder {
    /// Masks a message: texts, reasoning, inputs of calls, results, media that are text, data and
    /// metadata. Returns `None` if nothing changes.
    ///
    /// Opaque blocks and signed reasoning stay as they are, because their provider refuses them
    /// otherwise. Secrets in them are [reported](MaskReport::left).
    pub fn mask_message(&self, message: &Message, report: &mut MaskReport) -> Option<Message> {
        let parts = self.mask_parts(&message.parts, report, 0);
        let metadata = self.mask_metadata(&message.metadata, report);
        let changed = parts.is_some() || metadata.is_some();
        changed.then(|| Message {
            role: message.role,
            parts: parts.unwrap_or_else(|| message.parts.clone()),
            metadata: metadata.unwrap_or_else(|| message.metadata.clone()),
        })
    }

    /// Masks one part of a message. Returns `None` if nothing changes.
    pub fn mask_part(&self, part: &Part, report: &mut MaskReport) -> Option<Part> {
        self.part(part, report, 0)
    }

    fn mask_parts(
        &self,
        parts: &[Part],
        report: &mut MaskReport,
        depth: usize,
    ) -> Option<Vec<Part>> {
        let masked: Vec<_> = parts.iter().map(|part| self.part(part, report, depth)).collect();
        let changed = masked.iter().any(Option::is_some);
        let kept = |(masked, part): (Option<Part>, &Part)| masked.unwrap_or_else(|| part.clone());
        changed.then(|| masked.into_iter().zip(parts).map(kept).collect())
    }

    fn part(&self, part: &Part, report: &mut MaskReport, depth: usize) -> Option<Part> {
        match part {
            Part::Text(text) => self.text(text, report).map(Part::Text),
            Part::Reasoning(reasoning) => self.reasoning(reasoning, report).map(Part::Reasoning),
            Part::ToolCall(call) => self.call(call, report).map(Part::ToolCall),
            Part::ToolResult(result) => self.result(result, report, depth).map(Part::ToolResult),
            Part::Image(media) => self.media(media, report).map(Part::Image),
            Part::Document(media) => self.media(media, report).map(Part::Document),
            Part::Audio(media) => self.media(media, report).map(Part::Audio),
            Part::Data(Data { name, value }) => {
                let masked = self.mask_field(name, value, report)?;
                Some(Part::Data(Data { name: name.clone(), value: masked }))
            }
            Part::Opaque(OpaqueBlock { value, .. }) => {
                let mut found = MaskReport::default();
                self.mask_json(value, &mut found);
                report.leave(UnmaskablePlace::OpaqueBlock, &found.masked);
                None
            }
            Part::Unknown(json) => self.mask_json(json, report).map(Part::Unknown),
            _ => None,
        }
    }

    fn text(&self, text: &Text, report: &mut MaskReport) -> Option<Text> {
        let masked = self.mask_text(&text.text.to_cow(), report);
        let metadata = self.mask_metadata(&text.metadata, report);
        let changed = masked.is_some() || metadata.is_some();
        changed.then(|| Text {
            text: masked.map_or_else(|| text.text.clone(), Into::into),
            metadata: kept(metadata, &text.metadata),
        })
    }

    fn reasoning(&self, reasoning: &Reasoning, report: &mut MaskReport) -> Option<Reasoning> {
        if reasoning.signature.is_some() || reasoning.encrypted.is_some() {
            let counts = self.count(&reasoning.text.to_cow());
            report.leave(UnmaskablePlace::SignedReasoning, &counts);
            return None;
        }
        let text = self.mask_text(&reasoning.text.to_cow(), report);
        let metadata = self.mask_metadata(&reasoning.metadata, report);
        let changed = text.is_some() || metadata.is_some();
        changed.then(|| Reasoning {
            text: text.map_or_else(|| reasoning.text.clone(), Into::into),
            metadata: kept(metadata, &reasoning.metadata),
            ..reasoning.clone()
        })
    }

    fn call(&self, call: &ToolCall, report: &mut MaskReport) -> Option<ToolCall> {
        let input = match &call.input {
            ToolInput::Json(json) => self.mask_json(json, report).map(ToolInput::Json),
            ToolInput::Invalid(text) => self.mask_text(text, report).map(ToolInput::Invalid),
        };
        let metadata = self.mask_metadata(&call.metadata, report);
        let changed = input.is_some() || metadata.is_some();
        changed.then(|| ToolCall {
            input: input.unwrap_or_else(|| call.input.clone()),
            metadata: kept(metadata, &call.metadata),
            ..call.clone()
        })
    }

    fn result(
        &self,
        result: &ToolResult,
        report: &mut MaskReport,
        depth: usize,
    ) -> Option<ToolResult> {
        let output = if depth < DEEPEST {
            self.mask_parts(&result.output, report, depth + 1)
        } else {
            // No codec makes results this deep, and a hostile one must not exhaust the stack.
            self.deep(&result.output, report)
        };
        let metadata = self.mask_metadata(&result.metadata, report);
        let changed = output.is_some() || metadata.is_some();
        changed.then(|| ToolResult {
            output: output.unwrap_or_else(|| result.output.clone()),
            metadata: kept(metadata, &result.metadata),
            ..result.clone()
        })
    }

    /// Masks parts as their JSON form.
    fn deep(&self, parts: &[Part], report: &mut MaskReport) -> Option<Vec<Part>> {
        let json = Json::from_serialize(parts).ok()?;
        self.mask_json(&json, report)?.parse().ok()
    }

    fn media(&self, media: &Media, report: &mut MaskReport) -> Option<Media> {
        let source = match &media.source {
            MediaSource::Base64(data) => {
                self.base64(data, report).map(|masked| MediaSource::Base64(masked.into()))
            }
            MediaSource::Url(url) => self.url(url, report).map(MediaSource::Url),
            MediaSource::Reference(name) => {
                self.mask_text(name, report).map(MediaSource::Reference)
            }
            _ => None,
        };
        let name = media.name.as_ref().and_then(|name| self.mask_text(name, report));
        let metadata = self.mask_metadata(&media.metadata, report);
        let changed = source.is_some() || name.is_some() || metadata.is_some();
        changed.then(|| Media {
            source: source.unwrap_or_else(|| media.source.clone()),
            name: name.or_else(|| media.name.clone()),
            metadata: kept(metadata, &media.metadata),
            ..media.clone()
        })
    }

    fn url(&self, url: &str, report: &mut MaskReport) -> Option<String> {
        match url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
            Some((media_type, data)) => {
                let data = self.base64(data, report)?;
                Some(format!("data:{media_type};base64,{data}"))
            }
            None => self.mask_text(url, report),
        }
    }

    fn base64(&self, data: &str, report: &mut MaskReport) -> Option<String> {
        let bytes = STANDARD.decode(data).ok()?;
        self.mask_bytes(&bytes, report).map(|masked| STANDARD.encode(masked))
    }

    /// Masks bytes that are UTF-8 text: JSON or any other. In other bytes, secrets are counted and
    /// [left](UnmaskablePlace::Binary), because a file may not be valid without them. Returns
    /// `None` if nothing changes.
    pub fn mask_bytes(&self, bytes: &[u8], report: &mut MaskReport) -> Option<Vec<u8>> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            for chunk in bytes.utf8_chunks() {
                report.leave(UnmaskablePlace::Binary, &self.count(chunk.valid()));
            }
            return None;
        };
        match Json::from_text(text) {
            // Within JSON, a text may be escaped.
            Ok(json) => self.mask_json(&json, report).map(|json| json.as_str().into()),
            Err(_) => self.mask_text(text, report).map(String::into_bytes),
        }
    }

    fn count(&self, text: &str) -> SecretCounts {
        let mut counts = SecretCounts::default();
        self.find(text).iter().for_each(|hit| counts.add(&hit.kind, 1));
        counts
    }
}

fn kept(masked: Option<Metadata>, metadata: &Metadata) -> Metadata {
    masked.unwrap_or_else(|| metadata.clone())
}
