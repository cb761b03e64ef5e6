//! Model and token usage of the answers in a conversation, as far as the file contains them.
//!
//! | form | model | tokens |
//! |---|---|---|
//! | Claude Code, Anthropic | `model` of the answer | its `usage` on the last line of the answer |
//! | ChatGPT | `model_slug` of the message's metadata | |
//! | Gemini CLI | `model` of the record | its `tokens` |
//! | Codex CLI | the last `turn_context` | the next `token_count` after the answer |
//! | llm | `model` of the response | its `input_tokens` and `output_tokens` |
//! | Pi | `model` of the message | its `usage` |
//! | opencode | `modelID` of the message's `info` | its `tokens` |
//! | OpenHands V0 | `model` of the call's `model_response` | its `usage`, with the first call |
//! | Pydantic AI | `model_name` of the response | its `usage` |
//! | SWE-agent | `replay_config` | `info.model_stats`: totals of the run, attached to its last answer |
//!
//! All-zero usage is ignored: programs that do not count tokens write zeros.

use std::collections::HashMap;
use std::sync::Arc;

use context_core::trajectory::Measures;
use context_core::{Json, Message, MessageId, Node, Part, Role};
use serde_json::Value;

use crate::{TranscriptSource, codex, gemini_cli, records};

/// The metadata key of the answer's other fields, as Anthropic sends them.
const ANTHROPIC: &str = "anthropic.response";

/// Reads the measures of the answers among the messages of a branch: model, tokens and cost, as far
/// as the file has them. `sidecar` are the messages of the branch
/// [`SOURCE_BRANCH`](crate::SOURCE_BRANCH), if there is one.
pub fn measures<'a>(
    source: Option<&TranscriptSource>,
    sidecar: impl IntoIterator<Item = &'a Arc<Node>>,
    nodes: impl IntoIterator<Item = &'a Arc<Node>>,
) -> HashMap<MessageId, Measures> {
    let events = source.map(|source| codex_events(source, sidecar)).unwrap_or_default();
    let run = source.and_then(whole_run);
    let (mut measures_by_message, mut answer_lines, mut answer) =
        (HashMap::new(), HashMap::new(), None);
    let mut last_answer: Option<(usize, MessageId)> = None;
    let mut events = events.into_iter().peekable();
    let mut model = None;
    for node in nodes {
        let Ok(message) = node.message() else { continue };
        let line = codex_line(message);
        // Events between two messages belong to the first one.
        while let Some((_, event)) = events.next_if(|(at, _)| line.is_some_and(|line| *at < line)) {
            apply(event, &mut model, last_answer.as_ref(), &mut measures_by_message);
        }
        if message.role != Role::Assistant {
            continue;
        }
        let known = line.and(model.clone()).or_else(|| run.as_ref()?.model.clone());
        let measured = anthropic(&node.id, message, &mut answer_lines, &mut measures_by_message)
            .or_else(|| gemini(message))
            .or_else(|| records::measures(message));
        if let Some(measures) = measured.or_else(|| known.map(of_model)) {
            measures_by_message.insert(node.id.clone(), measures);
        }
        answer = Some(&node.id);
        last_answer = line.map(|line| (line, node.id.clone()));
    }
    for (_, event) in events {
        apply(event, &mut model, last_answer.as_ref(), &mut measures_by_message);
    }
    if let (Some(run), Some(answer)) = (run, answer) {
        let last = measures_by_message.entry(answer.clone()).or_default();
        if last.input_tokens.or(last.output_tokens).is_none() {
            *last = run;
        }
    }
    measures_by_message
}

fn of_model(model: Arc<str>) -> Measures {
    let mut measures = Measures::default();
    measures.model = Some(model);
    measures
}

pub(crate) fn number(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

pub(crate) fn text(value: &Value, key: &str) -> Option<Arc<str>> {
    value.get(key)?.as_str().filter(|text| !text.is_empty()).map(Arc::from)
}

/// Reads an Anthropic answer. One answer may span several lines, each with the usage up to that
/// line: `answer_lines` maps counted answers to their lines.
fn anthropic(
    id: &MessageId,
    message: &Message,
    answer_lines: &mut HashMap<String, MessageId>,
    measures_by_message: &mut HashMap<MessageId, Measures>,
) -> Option<Measures> {
    let response: Value = message.metadata.get(ANTHROPIC)?.parse().ok()?;
    let mut measures = Measures::default();
    measures.model = text(&response, "model");
    if let Some(usage) = response.get("usage") {
        let answer = response.get("id").and_then(Value::as_str).map(str::to_owned);
        let earlier = answer.and_then(|answer| answer_lines.insert(answer, id.clone()));
        if let Some(earlier) = earlier.and_then(|earlier| measures_by_message.get_mut(&earlier)) {
            let model = earlier.model.take();
            *earlier = Measures::default();
            earlier.model = model;
        }
        measures.cache_read_tokens = number(usage, "cache_read_input_tokens");
        measures.cache_write_tokens = number(usage, "cache_creation_input_tokens");
        let cached =
            measures.cache_read_tokens.unwrap_or(0) + measures.cache_write_tokens.unwrap_or(0);
        measures.input_tokens =
            number(usage, "input_tokens").map(|tokens| tokens.saturating_add(cached));
        measures.output_tokens = number(usage, "output_tokens");
    }
    (measures != Measures::default()).then_some(measures)
}

fn gemini(message: &Message) -> Option<Measures> {
    let original: Value = message.metadata.get(gemini_cli::KEY)?.parse().ok()?;
    let mut measures = Measures::default();
    measures.model = find(&original, "model").and_then(|model| model.as_str().map(Arc::from));
    if let Some(tokens) = find(&original, "tokens") {
        measures.input_tokens = number(tokens, "input");
        measures.cache_read_tokens = number(tokens, "cached");
        measures.reasoning_tokens = number(tokens, "thoughts");
        let thoughts = measures.reasoning_tokens.unwrap_or(0);
        measures.output_tokens =
            number(tokens, "output").map(|tokens| tokens.saturating_add(thoughts));
    }
    (measures != Measures::default()).then_some(measures)
}

/// Returns the value that a patch sets for a key, at a shallow depth.
fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let entries = value.as_object()?;
    match entries.get(key).and_then(|change| change.get("set")) {
        Some(found) if !found.is_null() => Some(found),
        _ => entries.values().find_map(|value| find(value, key)),
    }
}

/// Returns the totals that SWE-agent records for a whole run.
fn whole_run(source: &TranscriptSource) -> Option<Measures> {
    let entry = |key: &str| source.envelope.get(key)?.parse::<Value>().ok();
    let mut measures = Measures::default();
    if let Some(stats) =
        entry("info").and_then(|mut info| Some(info.get_mut("model_stats")?.take()))
    {
        let some = |key: &str| number(&stats, key).filter(|tokens| *tokens > 0);
        (measures.input_tokens, measures.output_tokens) =
            (some("tokens_sent"), some("tokens_received"));
        measures.cost_usd =
            stats.get("instance_cost").and_then(Value::as_f64).filter(|cost| *cost > 0.0);
    }
    let config = entry("replay_config").and_then(|config| match config {
        Value::String(text) => serde_json::from_str(&text).ok(),
        object => Some(object),
    });
    measures.model = config.and_then(|config| text(config.pointer("/agent/model")?, "name"));
    (measures != Measures::default()).then_some(measures)
}

/// A line of a Codex CLI session other than an item.
enum Event {
    Model(Arc<str>),
    Usage(Value),
}

/// Returns the events in the chat's metadata, or on the branch for larger content.
fn codex_events<'a>(
    source: &TranscriptSource,
    sidecar: impl IntoIterator<Item = &'a Arc<Node>>,
) -> Vec<(usize, Event)> {
    let event = |line: &Json| {
        let line: Value = line.parse().ok()?;
        let payload = line.get("payload")?;
        match (line.get("type")?.as_str()?, payload.get("type").and_then(Value::as_str)) {
            ("turn_context", _) => text(payload, "model").map(Event::Model),
            ("event_msg", Some("token_count")) => {
                payload.get("info")?.get("last_token_usage").cloned().map(Event::Usage)
            }
            _ => None,
        }
    };
    let in_metadata = source.sidecar_lines().filter_map(|(at, line)| Some((at, event(line)?)));
    let on_branch = sidecar.into_iter().filter_map(|node| {
        let message = node.message().ok()?;
        let Some(Part::Data(data)) = message.parts.first() else { return None };
        Some((codex_line(message)?, event(&data.value)?))
    });
    in_metadata.chain(on_branch).collect()
}

fn codex_line(message: &Message) -> Option<usize> {
    let lines: Value = message.metadata.get(codex::KEY)?.parse().ok()?;
    lines.get(0)?.get("line")?.as_u64().and_then(|line| usize::try_from(line).ok())
}

fn apply(
    event: Event,
    model: &mut Option<Arc<str>>,
    answer: Option<&(usize, MessageId)>,
    measures_by_message: &mut HashMap<MessageId, Measures>,
) {
    match (event, answer) {
        (Event::Model(name), _) => *model = Some(name),
        (Event::Usage(usage), Some((_, id))) => {
            let measures = measures_by_message.entry(id.clone()).or_default();
            measures.model = measures.model.clone().or_else(|| model.clone());
            // Each of several usages is that of a separate call.
            let add = |sum: &mut Option<u64>, key: &str| {
                if let Some(more) = number(&usage, key) {
                    *sum = Some(sum.unwrap_or(0).saturating_add(more));
                }
            };
            add(&mut measures.input_tokens, "input_tokens");
            add(&mut measures.cache_read_tokens, "cached_input_tokens");
            add(&mut measures.output_tokens, "output_tokens");
            add(&mut measures.reasoning_tokens, "reasoning_output_tokens");
        }
        _ => {}
    }
}
