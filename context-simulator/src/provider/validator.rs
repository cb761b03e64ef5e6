//! Decides whether a provider accepts a request, by its rules and its limits.

use context_codec_kit::provider_rules::{Rule, Violation, check_body};
use context_core::model::{ModelCodec, TokenCounter};
use context_core::{Json, ModelRequest};
use serde_json::Value;

use super::images::{Image, images};
use super::limits::Limits;
use super::refusal::Refusal;
use super::signature;

/// A request that keeps the rules.
pub(super) struct ValidRequest {
    pub(super) request: ModelRequest,
    /// The tokens of the request.
    pub(super) input: u64,
}

/// The rules and limits of a provider.
pub(super) struct Validator<'a> {
    pub(super) codec: &'a dyn ModelCodec,
    pub(super) counter: &'a dyn TokenCounter,
    pub(super) limits: Limits,
    /// Whether the requested output must fit the window too.
    pub(super) counts_output: bool,
}

impl Validator<'_> {
    /// Returns the published rules that the body breaks.
    pub(super) fn violations(&self, body: &Value) -> Vec<Violation> {
        check_body(self.codec.name(), body)
    }

    /// Lifts a body that keeps the rules and counts its tokens.
    pub(super) fn read(&self, body: &Value) -> Result<ValidRequest, Refusal> {
        let lifted = self.codec.lift(&Json::from(body)).map_err(|error| {
            let (path, message) = (error.path().to_owned(), error.to_string());
            Refusal::Rule(Violation::new(path, Rule::Type, message))
        })?;
        let input = self.counter.count_request(&lifted.request).total().tokens();
        Ok(ValidRequest { request: lifted.request, input })
    }

    /// Returns the tokens of a body, or 0 if it cannot be lifted.
    pub(super) fn count(&self, body: &Value) -> u64 {
        self.read(body).map_or(0, |valid| valid.input)
    }

    /// Returns the refusal of a request that keeps the rules but exceeds a limit.
    pub(super) fn limits(&self, body: &Value, valid: &ValidRequest) -> Option<Refusal> {
        let asked = valid.request.max_output_tokens;
        if let (Some(asked), Some(most)) = (asked, self.limits.max_output)
            && asked > most
        {
            return Some(Refusal::Output { asked, most });
        }
        foreign_signature(body)
            .or_else(|| self.images(&images(body)))
            .or_else(|| self.window(valid))
    }

    fn images(&self, images: &[Image<'_>]) -> Option<Refusal> {
        let count = images.len() as u64;
        if let Some(most) = self.limits.images.filter(|most| count > *most) {
            return Some(Refusal::Images { count, most });
        }
        // Anthropic limits the Base64 that is sent, the other providers the decoded bytes.
        let written = self.codec.name() == "anthropic";
        let bytes = |image: &Image<'_>| if written { image.written_bytes() } else { image.bytes() };
        let pixels = self.limits.pixels(images.len());
        images.iter().find_map(|image| {
            let path = || image.path.clone();
            if let Some(most) = self.limits.image_bytes.filter(|most| bytes(image) > *most) {
                return Some(Refusal::ImageBytes { path: path(), bytes: bytes(image), most });
            }
            let (most, many) = pixels?;
            let is_large = image.longest_edge().is_some_and(|edge| edge > most);
            is_large.then(|| Refusal::ImagePixels { path: path(), most, many })
        })
    }

    fn window(&self, valid: &ValidRequest) -> Option<Refusal> {
        let (window, input) = (self.limits.window?, valid.input);
        let output = valid.request.max_output_tokens.filter(|_| self.counts_output);
        let total = input.saturating_add(output.unwrap_or_default());
        (total > window).then_some(Refusal::Window { input, output, window })
    }
}

/// Returns the path of the first thinking block.
pub(super) fn first_thought(body: &Value) -> Option<String> {
    thoughts(body).next().map(|(path, ..)| path)
}

/// Returns the refusal of a thinking block whose signature belongs to another text.
fn foreign_signature(body: &Value) -> Option<Refusal> {
    let mut thoughts = thoughts(body);
    let (path, ..) = thoughts.find(|(_, signature, text)| !signature::is_of(signature, text))?;
    Some(Refusal::Signature { path })
}

/// Returns the signed thinking blocks of a body: their paths, signatures and texts.
fn thoughts(body: &Value) -> impl Iterator<Item = (String, &str, String)> {
    blocks(body).filter_map(|(path, block)| {
        let text_under = |key: &str| block.get(key).and_then(Value::as_str);
        match text_under("type")? {
            "thinking" => Some((
                path,
                text_under("signature")?,
                text_under("thinking").unwrap_or_default().to_owned(),
            )),
            "reasoning" => {
                let summary = block.get("summary").and_then(Value::as_array).into_iter().flatten();
                let texts = summary.filter_map(|part| part.get("text").and_then(Value::as_str));
                Some((path, text_under("encrypted_content")?, texts.collect()))
            }
            "compaction" => Some((
                path,
                text_under("signature")?,
                text_under("content").unwrap_or_default().to_owned(),
            )),
            _ => None,
        }
    })
}

/// Returns the items of a conversation and the blocks of its messages.
fn blocks(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = (usize, &'v Value)> {
        value.get(key).and_then(Value::as_array).into_iter().flatten().enumerate()
    }
    let items = list(body, "input").map(|(i, item)| (format!("input[{i}]"), item));
    let messages = list(body, "messages").flat_map(|(i, message)| {
        list(message, "content")
            .map(move |(n, block)| (format!("messages[{i}].content[{n}]"), block))
    });
    items.chain(messages)
}
