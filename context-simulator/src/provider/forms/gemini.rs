//! The wire form of Gemini's `generateContent`.

use context_codec_kit::provider_rules::{Rule, Violation};
use serde_json::{Value, json};

use super::form::Form;
use super::format::seconds;
use crate::provider::answer::{End, Piece, ProviderAnswer, in_pieces};
use crate::provider::limits::Limits;
use crate::provider::refusal::Refusal;
use crate::provider::signature::sign;

pub(super) struct Gemini;

impl Form for Gemini {
    fn limits(&self) -> Limits {
        Limits { request_bytes: Some(20 << 20), images: Some(3_600), ..Limits::default() }
    }

    fn counts_output(&self) -> bool {
        false
    }

    fn refuse(&self, refusal: &Refusal, model: &str) -> (u16, String) {
        let (code, status, message) = words(refusal, model);
        let mut error = json!({"code": code, "message": message, "status": status});
        if let Refusal::Rate { retry_after: Some(wait) } = refusal {
            let kind = "type.googleapis.com/google.rpc.RetryInfo";
            error["details"] = json!([{"@type": kind, "retryDelay": seconds(*wait)}]);
        }
        (code, json!({ "error": error }).to_string())
    }

    fn answer(&self, answer: &ProviderAnswer) -> Value {
        let parts: Vec<Value> = parts(answer).into_iter().map(|(part, _)| part).collect();
        response(answer, parts, true)
    }

    fn events(&self, answer: &ProviderAnswer) -> Vec<String> {
        let mut events: Vec<Value> = Vec::new();
        for (part, text) in parts(answer) {
            match text {
                Some(text) => events.extend(in_pieces(text).map(|text| {
                    let mut piece = part.clone();
                    piece["text"] = text.into();
                    response(answer, vec![piece], false)
                })),
                None => events.push(response(answer, vec![part], false)),
            }
        }
        events.push(response(answer, Vec::new(), true));
        events.iter().map(Value::to_string).collect()
    }
}

/// Returns the parts with their texts. A call after thinking carries its signature.
fn parts(answer: &ProviderAnswer) -> Vec<(Value, Option<&str>)> {
    let mut thought: Option<&str> = None;
    let parts = answer.pieces.iter().map(|piece| match piece {
        Piece::Text(text) | Piece::Compaction(text) => {
            (json!({ "text": text }), Some(text.as_str()))
        }
        Piece::Thought(text) => {
            thought = Some(text);
            (json!({"text": text, "thought": true}), Some(text.as_str()))
        }
        Piece::Call { id, name, input } => {
            let mut part = json!({"functionCall": {"id": id, "name": name, "args": input}});
            if let Some(thought) = thought.take() {
                part["thoughtSignature"] = sign(thought).into();
            }
            (part, None)
        }
    });
    parts.collect()
}

fn response(answer: &ProviderAnswer, parts: Vec<Value>, is_last: bool) -> Value {
    let mut usage = json!({
        "promptTokenCount": answer.usage.total_input(), "totalTokenCount": answer.usage.total(),
        "candidatesTokenCount": answer.usage.output.saturating_sub(answer.thinking()),
    });
    if answer.usage.cache_read > 0 {
        usage["cachedContentTokenCount"] = answer.usage.cache_read.into();
    }
    if answer.usage.reasoning.is_some() {
        usage["thoughtsTokenCount"] = answer.thinking().into();
    }
    let mut body = json!({"responseId": answer.id("resp"), "modelVersion": answer.model, "usageMetadata": usage});
    if answer.end == End::Filtered {
        body["promptFeedback"] = json!({"blockReason": "SAFETY"});
        return body;
    }
    let mut candidate = json!({"index": 0, "content": {"role": "model"}});
    if !parts.is_empty() {
        candidate["content"]["parts"] = parts.into();
    }
    if is_last {
        let reason = if answer.end == End::Length { "MAX_TOKENS" } else { "STOP" };
        candidate["finishReason"] = reason.into();
    }
    body["candidates"] = json!([candidate]);
    body
}

fn words(refusal: &Refusal, model: &str) -> (u16, &'static str, String) {
    let invalid = |message| (400, "INVALID_ARGUMENT", message);
    match refusal {
        Refusal::NoJson => {
            invalid("Invalid JSON payload received. Unable to parse request.".to_owned())
        }
        Refusal::Rule(violation) => invalid(rule(violation)),
        Refusal::Body { most } => {
            invalid(format!("Request payload size exceeds the limit: {most} bytes."))
        }
        Refusal::Window { input, window, .. } => invalid(format!(
            "The input token count ({input}) exceeds the maximum number of tokens allowed ({window})."
        )),
        Refusal::Output { asked, most } => invalid(format!(
            "Unable to submit request because it has a maxOutputTokens value of {asked} but the supported range is \
             from 1 (inclusive) to {} (exclusive). Update the value and try again.",
            most.saturating_add(1)
        )),
        Refusal::Images { most, .. } => invalid(format!(
            "Please use fewer than {} images in your request to models/{model}",
            most.saturating_add(1)
        )),
        Refusal::ImageBytes { .. } | Refusal::ImagePixels { .. } => invalid(
            "Unable to process input image. Please retry or report in \
             https://developers.generativeai.google/guide/troubleshooting"
                .to_owned(),
        ),
        Refusal::Rate { retry_after } => {
            let wait = retry_after.map(|wait| format!(" Please retry in {}.", seconds(wait)));
            let message =
                "You exceeded your current quota, please check your plan and billing details.";
            (429, "RESOURCE_EXHAUSTED", format!("{message}{}", wait.unwrap_or_default()))
        }
        Refusal::Overloaded => {
            (503, "UNAVAILABLE", "The model is overloaded. Please try again later.".to_owned())
        }
        Refusal::CachedContent => {
            let message = "CachedContent not found (or permission denied)";
            (403, "PERMISSION_DENIED", message.to_owned())
        }
        Refusal::Server => {
            let message = "An internal error has occurred. Please retry or report in \
                        https://developers.generativeai.google/guide/troubleshooting";
            (500, "INTERNAL", message.to_owned())
        }
        Refusal::Signature { .. } => invalid("Thought signature is not valid.".to_owned()),
    }
}

/// The keys that a request with cached content may not have. They have no other place to break.
const BESIDE_CACHED_CONTENT: [&str; 3] = ["systemInstruction", "tools", "toolConfig"];

fn rule(violation: &Violation) -> String {
    let (path, message) = (violation.path.as_str(), violation.message.as_str());
    let has_place = |key: &&str| violation.rule == Rule::Place && path == *key;
    if BESIDE_CACHED_CONTENT.iter().any(has_place) {
        return "CachedContent can not be used with GenerateContent request setting system_instruction, tools or \
                tool_config.\n\nProposed fix: move those values to CachedContent from GenerateContent request."
            .to_owned();
    }
    let words = match violation.rule {
        Rule::Pairing if message.ends_with("for 0 calls") => {
            "Please ensure that function response turn comes immediately after a function call turn."
        }
        Rule::Pairing => {
            "Please ensure that the number of function response parts is equal to the number of function call parts \
             of the function call turn."
        }
        Rule::Role if message.contains("last word") => {
            "Please ensure that multiturn requests ends with a user role or a function response."
        }
        // The model's message is out of turn, and it is usually a call.
        Rule::Role if message.starts_with("\"model\"") => {
            "Please ensure that function call turn comes immediately after a user turn or after a function response \
             turn."
        }
        Rule::Role if message.starts_with("\"user\"") => {
            "Please ensure that multiturn requests alternate between user and model."
        }
        Rule::Role => "Please use a valid role: user, model.",
        Rule::Empty if path == "contents" => {
            "* GenerateContentRequest.contents: contents is not specified\n"
        }
        Rule::Empty if path.ends_with("parts") => {
            return format!("* GenerateContentRequest.{path}: contents.parts must not be empty.\n");
        }
        Rule::Empty => {
            "Unable to submit request because it must have a text parameter. Add a text parameter and try again."
        }
        Rule::UnknownKey => {
            let (place, name) = path.rsplit_once('.').unwrap_or(("", path));
            return format!(
                "Invalid JSON payload received. Unknown name \"{name}\" at '{place}': Cannot find field."
            );
        }
        _ => return format!("* GenerateContentRequest.{path}: {message}\n"),
    };
    words.to_owned()
}
