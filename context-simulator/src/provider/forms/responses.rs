//! The wire form of OpenAI's Responses API.

use context_codec_kit::provider_rules::{Rule, Violation};
use serde_json::{Value, json};

use super::form::Form;
use super::openai::{OpenAiError, arguments, limits, rule, shared};
use crate::provider::answer::{End, Piece, ProviderAnswer, in_pieces};
use crate::provider::limits::Limits;
use crate::provider::refusal::{Pair, Refusal};
use crate::provider::signature::sign;

pub(super) struct Responses;

impl Form for Responses {
    fn limits(&self) -> Limits {
        limits()
    }

    fn counts_output(&self) -> bool {
        false
    }

    fn refuse(&self, refusal: &Refusal, model: &str) -> (u16, String) {
        if let Some(shared) = shared(refusal, model) {
            return shared;
        }
        let error = match refusal {
            Refusal::Rule(violation) => broken(violation),
            Refusal::Window { .. } => OpenAiError::invalid(
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
            )
            .about("input")
            .coded("context_length_exceeded"),
            Refusal::Output { asked, most } => OpenAiError::invalid(format!(
                "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= {most}, but got \
                 {asked} instead."
            ))
            .about("max_output_tokens")
            .coded("integer_above_max_value"),
            _ => OpenAiError::invalid(
                "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or \
                 parsed.",
            )
            .coded("invalid_encrypted_content"),
        };
        error.write()
    }

    fn answer(&self, answer: &ProviderAnswer) -> Value {
        let output = answer.pieces.iter().enumerate().map(|(i, piece)| item(answer, i, piece));
        response(answer, status(answer), output.collect())
    }

    fn events(&self, answer: &ProviderAnswer) -> Vec<String> {
        let begun = || response(answer, "in_progress", Vec::new());
        let mut events = vec![
            json!({"type": "response.created", "response": begun()}),
            json!({"type": "response.in_progress", "response": begun()}),
        ];
        for (i, piece) in answer.pieces.iter().enumerate() {
            in_events(answer, i, piece, &mut events);
        }
        let end = if status(answer) == "completed" {
            "response.completed"
        } else {
            "response.incomplete"
        };
        events.push(json!({"type": end, "response": self.answer(answer)}));
        for (number, event) in events.iter_mut().enumerate() {
            event["sequence_number"] = number.into();
        }
        events.iter().map(Value::to_string).collect()
    }

    fn failed(&self, answer: &ProviderAnswer) -> String {
        let message = "Our servers are currently overloaded. Please try again later.";
        let mut failed = response(answer, "failed", Vec::new());
        failed["error"] = json!({"code": "server_is_overloaded", "message": message});
        json!({"type": "response.failed", "response": failed}).to_string()
    }
}

fn status(answer: &ProviderAnswer) -> &'static str {
    match answer.end {
        End::Done | End::Calls => "completed",
        End::Length | End::Filtered => "incomplete",
    }
}

fn response(answer: &ProviderAnswer, status: &str, output: Vec<Value>) -> Value {
    let mut response = json!({
        "id": answer.id("resp_"), "object": "response", "created_at": 0, "status": status,
            "error": null,
        "incomplete_details": null, "model": answer.model, "output": output, "usage": null,
    });
    if !matches!(status, "in_progress" | "failed") {
        response["usage"] = json!({
            "input_tokens": answer.usage.total_input(), "output_tokens": answer.usage.output,
            "input_tokens_details": {"cached_tokens": answer.usage.cache_read},
            "output_tokens_details": {"reasoning_tokens": answer.thinking()},
            "total_tokens": answer.usage.total(),
        });
    }
    if status == "incomplete" {
        let reason = if answer.end == End::Length { "max_output_tokens" } else { "content_filter" };
        response["incomplete_details"] = json!({ "reason": reason });
    }
    response
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

fn summary_part(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}

fn item(answer: &ProviderAnswer, index: usize, piece: &Piece) -> Value {
    let id = |start: &str| format!("{}_{index}", answer.id(start));
    match piece {
        Piece::Text(text) => json!({
            "type": "message", "id": id("msg_"), "status": "completed", "role": "assistant",
            "content": [text_part(text)],
        }),
        Piece::Thought(text) => json!({
            "type": "reasoning", "id": id("rs_"), "encrypted_content": sign(text),
            "summary": [summary_part(text)],
        }),
        Piece::Call { id: call, name, input } => json!({
            "type": "function_call", "id": id("fc_"), "status": "completed", "call_id": call, "name": name,
            "arguments": arguments(input),
        }),
        Piece::Compaction(text) => json!({
            "type": "compaction", "id": id("cmp_"), "encrypted_content": format!("{}{}", sign(text), sealed(text)),
        }),
    }
}

/// Returns a text in a form that nobody reads.
fn sealed(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Appends the events of an item: its start, its deltas, and the finished item.
fn in_events(answer: &ProviderAnswer, index: usize, piece: &Piece, events: &mut Vec<Value>) {
    let whole = item(answer, index, piece);
    let mut begun = whole.clone();
    let emptied = match piece {
        Piece::Text(_) => Some(("content", json!([]))),
        Piece::Thought(_) => Some(("summary", json!([]))),
        Piece::Call { .. } => Some(("arguments", "".into())),
        Piece::Compaction(_) => None,
    };
    if let Some((key, empty)) = emptied {
        begun[key] = empty;
    }
    if begun.get("status").is_some() {
        begun["status"] = "in_progress".into();
    }
    events
        .push(json!({"type": "response.output_item.added", "output_index": index, "item": begun}));
    let at = |kind: &str, key: &str, value: Value| {
        let mut event = json!({"type": kind, "item_id": whole["id"], "output_index": index});
        match piece {
            Piece::Text(_) => event["content_index"] = 0.into(),
            Piece::Thought(_) => event["summary_index"] = 0.into(),
            Piece::Call { .. } | Piece::Compaction(_) => {}
        }
        event[key] = value;
        event
    };
    match piece {
        Piece::Text(text) => {
            events.push(at("response.content_part.added", "part", text_part("")));
            events.extend(
                in_pieces(text).map(|text| at("response.output_text.delta", "delta", text.into())),
            );
            events.push(at("response.output_text.done", "text", text.as_str().into()));
            events.push(at("response.content_part.done", "part", text_part(text)));
        }
        Piece::Thought(text) => {
            events.push(at("response.reasoning_summary_part.added", "part", summary_part("")));
            let delta =
                |text: &str| at("response.reasoning_summary_text.delta", "delta", text.into());
            events.extend(in_pieces(text).map(delta));
            events.push(at("response.reasoning_summary_text.done", "text", text.as_str().into()));
            events.push(at("response.reasoning_summary_part.done", "part", summary_part(text)));
        }
        Piece::Call { input, .. } => {
            let delta =
                |json: &str| at("response.function_call_arguments.delta", "delta", json.into());
            events.extend(in_pieces(input.as_str()).map(delta));
            events.push(at("response.function_call_arguments.done", "arguments", arguments(input)));
        }
        Piece::Compaction(_) => {}
    }
    events.push(json!({"type": "response.output_item.done", "output_index": index, "item": whole}));
}

fn broken(violation: &Violation) -> OpenAiError {
    let is_pairing = violation.rule == Rule::Pairing;
    let message = match Pair::of(violation) {
        Pair::Unanswered(ids) if is_pairing => {
            let first = ids.split(", ").next().unwrap_or_default();
            format!("No tool output found for function call {first}.")
        }
        Pair::Unasked(id) if is_pairing => {
            format!("No tool call found for function call output with call_id {id}.")
        }
        _ => return rule(violation),
    };
    OpenAiError::invalid(message).about("input")
}
