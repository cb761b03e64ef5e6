//! The wire form of OpenAI's Chat Completions API.

use context_codec_kit::provider_rules::{Rule, Violation};
use serde_json::{Value, json};

use super::form::Form;
use super::openai::{OpenAiError, arguments, limits, rule, shared};
use crate::provider::answer::{End, Piece, ProviderAnswer, in_pieces};
use crate::provider::limits::Limits;
use crate::provider::refusal::{Pair, Refusal};

pub(super) struct Chat;

impl Form for Chat {
    fn limits(&self) -> Limits {
        limits()
    }

    fn counts_output(&self) -> bool {
        true
    }

    fn refuse(&self, refusal: &Refusal, model: &str) -> (u16, String) {
        if let Some(shared) = shared(refusal, model) {
            return shared;
        }
        let error = match refusal {
            Refusal::Rule(violation) => broken(violation),
            Refusal::Window { input, output, window } => {
                let request = match output.filter(|_| input <= window) {
                    Some(output) => format!(
                        "you requested {} tokens ({input} in the messages, {output} in the completion). Please \
                         reduce the length of the messages or completion.",
                        input.saturating_add(output)
                    ),
                    None => format!(
                        "your messages resulted in {input} tokens. Please reduce the length of the messages."
                    ),
                };
                let start = format!("This model's maximum context length is {window} tokens. However, ");
                OpenAiError::invalid(start + &request).about("messages").coded("context_length_exceeded")
            }
            Refusal::Output { asked, most } => OpenAiError::invalid(format!(
                "max_tokens is too large: {asked}. This model supports at most {most} completion tokens, whereas \
                 you provided {asked}."
            ))
            .about("max_tokens"),
            _ => OpenAiError::invalid("Invalid value for 'messages'.").about("messages"),
        };
        error.write()
    }

    fn answer(&self, answer: &ProviderAnswer) -> Value {
        let mut message = json!({"role": "assistant", "content": null, "refusal": null});
        let text: String = answer.pieces.iter().filter_map(text).collect();
        if !text.is_empty() {
            message["content"] = text.into();
        }
        let thought: String = answer.pieces.iter().filter_map(thought).collect();
        if !thought.is_empty() {
            message["reasoning_content"] = thought.into();
        }
        let calls: Vec<Value> = answer.pieces.iter().filter_map(call).collect();
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        let choice = json!({"index": 0, "message": message, "logprobs": null,
            "finish_reason": finish(answer)});
        json!({
            "id": answer.id("chatcmpl-"), "object": "chat.completion", "created": 0,
                "model": answer.model,
            "choices": [choice], "usage": usage(answer),
        })
    }

    fn events(&self, answer: &ProviderAnswer) -> Vec<String> {
        let mut events = vec![delta(answer, json!({"role": "assistant", "content": ""}))];
        let mut calls = 0;
        for piece in &answer.pieces {
            match piece {
                Piece::Text(text) | Piece::Compaction(text) => {
                    events.extend(
                        in_pieces(text).map(|text| delta(answer, json!({ "content": text }))),
                    );
                }
                Piece::Thought(text) => {
                    let deltas = in_pieces(text).map(|text| json!({ "reasoning_content": text }));
                    events.extend(deltas.map(|thought| delta(answer, thought)));
                }
                Piece::Call { id, name, input } => {
                    let function = json!({"name": name, "arguments": ""});
                    let begun =
                        json!({"index": calls, "id": id, "type": "function", "function": function});
                    events.push(delta(answer, json!({ "tool_calls": [begun] })));
                    events.extend(in_pieces(input.as_str()).map(|json| {
                        let more = json!({"index": calls, "function": {"arguments": json}});
                        delta(answer, json!({ "tool_calls": [more] }))
                    }));
                    calls += 1;
                }
            }
        }
        let last =
            json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": finish(answer)}]);
        events.push(chunk(answer, last));
        if answer.reports_usage {
            let mut counted = chunk(answer, json!([]));
            counted["usage"] = usage(answer);
            events.push(counted);
        }
        events.iter().map(Value::to_string).chain(["[DONE]".to_owned()]).collect()
    }
}

fn text(piece: &Piece) -> Option<&str> {
    match piece {
        Piece::Text(text) | Piece::Compaction(text) => Some(text),
        _ => None,
    }
}

/// Returns the text of a thinking block. OpenAI does not return thinking here; compatible servers
/// do, under a key of their own.
fn thought(piece: &Piece) -> Option<&str> {
    match piece {
        Piece::Thought(text) => Some(text),
        _ => None,
    }
}

fn call(piece: &Piece) -> Option<Value> {
    let Piece::Call { id, name, input } = piece else { return None };
    let function = json!({"name": name, "arguments": arguments(input)});
    Some(json!({"id": id, "type": "function", "function": function}))
}

fn finish(answer: &ProviderAnswer) -> &'static str {
    match answer.end {
        End::Done => "stop",
        End::Calls => "tool_calls",
        End::Length => "length",
        End::Filtered => "content_filter",
    }
}

fn usage(answer: &ProviderAnswer) -> Value {
    json!({
        "prompt_tokens": answer.usage.total_input(), "completion_tokens": answer.usage.output,
        "total_tokens": answer.usage.total(),
        "prompt_tokens_details": {"cached_tokens": answer.usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": answer.thinking()},
    })
}

fn delta(answer: &ProviderAnswer, delta: Value) -> Value {
    chunk(answer, json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]))
}

fn chunk(answer: &ProviderAnswer, choices: Value) -> Value {
    json!({
        "id": answer.id("chatcmpl-"), "object": "chat.completion.chunk", "created": 0,
            "model": answer.model,
        "choices": choices,
    })
}

fn broken(violation: &Violation) -> OpenAiError {
    if violation.rule != Rule::Pairing {
        return rule(violation);
    }
    // The provider formats the indices of messages differently.
    let role = violation.path.replacen("messages[", "messages.[", 1) + ".role";
    let message = match Pair::of(violation) {
        Pair::Unanswered(ids) => format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
             'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
        ),
        Pair::Unasked(_) | Pair::Other => {
            "Invalid parameter: messages with role 'tool' must be a response to a \
                                           preceeding message with 'tool_calls'."
                .to_owned()
        }
    };
    OpenAiError::invalid(message).about(role)
}
