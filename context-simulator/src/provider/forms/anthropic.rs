//! The wire form of Anthropic's Messages API.

use context_codec_kit::provider_rules::{Rule, Violation};
use serde_json::{Value, json};

use super::form::Form;
use super::format::dotted;
use crate::provider::answer::{End, Piece, ProviderAnswer, in_pieces};
use crate::provider::limits::Limits;
use crate::provider::refusal::{Pair, Refusal};
use crate::provider::signature::sign;

pub(super) struct Anthropic;

impl Form for Anthropic {
    fn limits(&self) -> Limits {
        Limits {
            request_bytes: Some(32 << 20),
            images: Some(100),
            image_bytes: Some(5 << 20),
            image_pixels: Some(8_000),
            many_images_pixels: Some(2_000),
            ..Limits::default()
        }
    }

    fn counts_output(&self) -> bool {
        true
    }

    fn refuse(&self, refusal: &Refusal, model: &str) -> (u16, String) {
        let (status, kind, message) = words(refusal, model);
        let error = json!({"type": kind, "message": message});
        (
            status,
            json!({"type": "error", "error": error, "request_id": "req_simulated"}).to_string(),
        )
    }

    fn answer(&self, answer: &ProviderAnswer) -> Value {
        let content: Vec<Value> = answer.pieces.iter().map(whole).collect();
        let mut message = message(answer, content, stop(answer).into());
        match answer.is_compaction() {
            true => message["usage"] = compaction_usage(answer),
            false => message["usage"]["output_tokens"] = answer.usage.output.into(),
        }
        message
    }

    fn events(&self, answer: &ProviderAnswer) -> Vec<String> {
        let begun = message(answer, Vec::new(), Value::Null);
        let mut events =
            vec![json!({"type": "message_start", "message": begun}), json!({"type": "ping"})];
        for (index, piece) in answer.pieces.iter().enumerate() {
            let (begun, deltas) = in_events(piece);
            events.push(
                json!({"type": "content_block_start", "index": index, "content_block": begun}),
            );
            let delta = |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
            events.extend(deltas.into_iter().map(delta));
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
        let delta = json!({"stop_reason": stop(answer), "stop_sequence": null});
        let usage = match answer.is_compaction() {
            true => compaction_usage(answer),
            false => json!({"output_tokens": answer.usage.output}),
        };
        events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
        events.push(json!({"type": "message_stop"}));
        events.iter().map(Value::to_string).collect()
    }
}

fn stop(answer: &ProviderAnswer) -> &'static str {
    match answer.end {
        End::Done if answer.is_compaction() => "compaction",
        End::Done => "end_turn",
        End::Calls => "tool_use",
        End::Length => "max_tokens",
        End::Filtered => "refusal",
    }
}

/// Returns the usage of a compaction, which is reported as a step and not as an answer.
fn compaction_usage(answer: &ProviderAnswer) -> Value {
    json!({
        "input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0,
        "iterations": [{
            "type": "compaction", "input_tokens": answer.usage.input, "output_tokens": answer.usage.output,
            "cache_creation_input_tokens": answer.usage.cache_write,
            "cache_read_input_tokens": answer.usage.cache_read,
        }],
    })
}

fn message(answer: &ProviderAnswer, content: Vec<Value>, stop: Value) -> Value {
    let (written, long) = (answer.usage.cache_write, answer.usage.cache_write_long);
    let usage = json!({
        "input_tokens": answer.usage.input, "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_5m_input_tokens": written - long, "ephemeral_1h_input_tokens": long},
        "cache_read_input_tokens": answer.usage.cache_read, "output_tokens": 1,
    });
    json!({
        "id": answer.id("msg_"), "type": "message", "role": "assistant", "model": answer.model,
        "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage,
    })
}

fn whole(piece: &Piece) -> Value {
    match piece {
        Piece::Text(text) => json!({"type": "text", "text": text}),
        Piece::Thought(text) => {
            json!({"type": "thinking", "thinking": text, "signature": sign(text)})
        }
        Piece::Call { id, name, input } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
        Piece::Compaction(text) => {
            json!({"type": "compaction", "content": text, "signature": sign(text)})
        }
    }
}

/// Returns the start of a block and its deltas.
fn in_events(piece: &Piece) -> (Value, Vec<Value>) {
    match piece {
        Piece::Text(text) => {
            let deltas = in_pieces(text).map(|text| json!({"type": "text_delta", "text": text}));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        Piece::Thought(text) => {
            let deltas =
                in_pieces(text).map(|text| json!({"type": "thinking_delta", "thinking": text}));
            let signed = json!({"type": "signature_delta", "signature": sign(text)});
            let begun = json!({"type": "thinking", "thinking": "", "signature": ""});
            (begun, deltas.chain([signed]).collect())
        }
        Piece::Call { id, name, input } => {
            let pieces = in_pieces(input.as_str());
            let deltas =
                pieces.map(|json| json!({"type": "input_json_delta", "partial_json": json}));
            (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas.collect())
        }
        // The block arrives whole.
        Piece::Compaction(_) => (whole(piece), Vec::new()),
    }
}

fn words(refusal: &Refusal, model: &str) -> (u16, &'static str, String) {
    let invalid = |message| (400, "invalid_request_error", message);
    match refusal {
        Refusal::NoJson => invalid("The request body is not valid JSON".to_owned()),
        Refusal::Rule(violation) => invalid(rule(violation)),
        Refusal::Body { .. } => {
            (413, "request_too_large", "Request exceeds the maximum size".to_owned())
        }
        Refusal::Window { input, output: Some(output), window } if input <= window => {
            invalid(format!(
                "input length and `max_tokens` exceed context limit: {input} + {output} > {window}, decrease input \
             length or `max_tokens` and try again"
            ))
        }
        Refusal::Window { input, window, .. } => {
            invalid(format!("prompt is too long: {input} tokens > {window} maximum"))
        }
        Refusal::Output { asked, most } => invalid(format!(
            "max_tokens: {asked} > {most}, which is the maximum allowed number of output tokens for {model}"
        )),
        Refusal::Images { count, most } => {
            invalid(format!("too many images and documents: {count} + 0 > {most}"))
        }
        Refusal::ImageBytes { path, bytes, most } => invalid(format!(
            "{}.image.source.base64: image exceeds {} maximum: {bytes} bytes > {most} bytes",
            dotted(path),
            megabytes(*most)
        )),
        Refusal::ImagePixels { path, most, many } => invalid(format!(
            "{}.image.source.base64.data: At least one of the image dimensions exceed max allowed size{}: {most} \
             pixels",
            dotted(path),
            if *many { " for many-image requests" } else { "" }
        )),
        Refusal::Rate { .. } => {
            let message = "This request would exceed your organization's rate limit of 40,000 input tokens per minute.";
            (429, "rate_limit_error", message.to_owned())
        }
        Refusal::Overloaded => (529, "overloaded_error", "Overloaded".to_owned()),
        Refusal::CachedContent | Refusal::Server => {
            (500, "api_error", "Internal server error".to_owned())
        }
        Refusal::Signature { path } => {
            invalid(format!("{}: Invalid `signature` in `thinking` block", dotted(path)))
        }
    }
}

/// Formats a number of bytes as the provider does.
fn megabytes(bytes: u64) -> String {
    const MEGABYTE: u64 = 1 << 20;
    match bytes % MEGABYTE {
        0 => format!("{} MB", bytes / MEGABYTE),
        _ => format!("{:.2} MB", bytes as f64 / MEGABYTE as f64),
    }
}

fn rule(violation: &Violation) -> String {
    let (path, message) = (dotted(&violation.path), violation.message.as_str());
    match violation.rule {
        Rule::Pairing => match Pair::of(violation) {
            Pair::Unanswered(ids) => format!(
                "{path}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each \
                 `tool_use` block must have a corresponding `tool_result` block in the next message."
            ),
            Pair::Unasked(id) => format!(
                "{path}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block \
                 must have a corresponding `tool_use` block in the previous message."
            ),
            Pair::Other => format!("{path}: {message}"),
        },
        Rule::Empty if path == "messages" => {
            "messages: at least one message is required".to_owned()
        }
        Rule::Empty if message.contains("ends with spaces") => {
            "messages: final assistant content cannot end with trailing whitespace".to_owned()
        }
        Rule::Empty if message.contains("list") => format!(
            "{}: all messages must have non-empty content except for the optional final assistant message",
            path.trim_end_matches(".content")
        ),
        Rule::Empty => {
            let list = path.split('.').next().unwrap_or_default();
            format!("{list}: text content blocks must be non-empty")
        }
        Rule::Role => format!("{path}: first message must use the \"user\" role"),
        Rule::UnknownKey => format!("{path}: Extra inputs are not permitted"),
        Rule::Missing => format!("{path}: Field required"),
        Rule::Id => format!("{path}: String should match pattern '^[a-zA-Z0-9_-]+$'"),
        Rule::Name => format!("{path}: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"),
        Rule::Duplicate => "messages: `tool_use` ids must be unique".to_owned(),
        Rule::ToolInput => format!("{path}.input: Input should be a valid dictionary"),
        _ => format!("{path}: {message}"),
    }
}
