//! What the answers of a conversation took, as far as its file says so.
//!
//! | form | model | tokens |
//! |---|---|---|
//! | Claude Code, Anthropic | `model` of the answer | its `usage`, once for all lines of one answer |
//! | Gemini CLI | `model` of the record | its `tokens` |
//! | Codex CLI | the last `turn_context` | the next `token_count` behind the answer |

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_runtime::trajectory::Measures;
use context_runtime::{Message, MessageId, Metadata, Role, store::Node};
use serde_json::Value;

use super::{Source, codex, gemini_cli};
use crate::error::Failure;

/// The metadata key of what Anthropic says of an answer, beside the answer.
const ANTHROPIC: &str = "anthropic.response";

/// What is known of the answers among these messages.
pub(crate) fn measures<'a>(
    chat: &str,
    about: &Metadata,
    nodes: impl IntoIterator<Item = &'a Arc<Node>>,
) -> Result<HashMap<MessageId, Measures>, Failure> {
    let events = Source::of(chat, about)?.map(|source| codex_events(&source)).unwrap_or_default();
    let (mut all, mut seen) = (HashMap::new(), HashSet::new());
    let mut waiting: Option<(usize, MessageId)> = None;
    let mut events = events.into_iter().peekable();
    let mut model = None;
    for node in nodes {
        let Ok(message) = node.message() else { continue };
        let line = codex_line(message);
        // What stands between two messages is about the first of them.
        while let Some((_, event)) = events.next_if(|(at, _)| line.is_some_and(|line| *at < line)) {
            apply(event, &mut model, waiting.as_ref(), &mut all);
        }
        if message.role != Role::Assistant {
            continue;
        }
        let measured = anthropic(message, &mut seen).or_else(|| gemini(message)).or_else(|| {
            let mut measures = Measures::default();
            measures.model = Some(line.and(model.clone())?);
            Some(measures)
        });
        if let Some(measures) = measured {
            all.insert(node.id.clone(), measures);
        }
        waiting = line.map(|line| (line, node.id.clone()));
    }
    for (_, event) in events {
        apply(event, &mut model, waiting.as_ref(), &mut all);
    }
    Ok(all)
}

fn number(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

fn text(value: &Value, key: &str) -> Option<Arc<str>> {
    value.get(key)?.as_str().filter(|text| !text.is_empty()).map(Arc::from)
}

/// One answer may be several lines, and each has the usage of all of it: `seen` are the answers that were counted.
fn anthropic(message: &Message, seen: &mut HashSet<String>) -> Option<Measures> {
    let response: Value = message.metadata.get(ANTHROPIC)?.parse().ok()?;
    let mut measures = Measures::default();
    measures.model = text(&response, "model");
    let first = response.get("id").and_then(Value::as_str).is_none_or(|id| seen.insert(id.to_owned()));
    if let Some(usage) = response.get("usage").filter(|_| first) {
        measures.cache_read_tokens = number(usage, "cache_read_input_tokens");
        measures.cache_write_tokens = number(usage, "cache_creation_input_tokens");
        let cached = measures.cache_read_tokens.unwrap_or(0) + measures.cache_write_tokens.unwrap_or(0);
        measures.input_tokens = number(usage, "input_tokens").map(|tokens| tokens.saturating_add(cached));
        measures.output_tokens = number(usage, "output_tokens");
    }
    (measures != Measures::default()).then_some(measures)
}

fn gemini(message: &Message) -> Option<Measures> {
    let mark: Value = message.metadata.get(gemini_cli::KEY)?.parse().ok()?;
    let mut measures = Measures::default();
    measures.model = find(&mark, "model").and_then(|model| model.as_str().map(Arc::from));
    if let Some(tokens) = find(&mark, "tokens") {
        measures.input_tokens = number(tokens, "input");
        measures.cache_read_tokens = number(tokens, "cached");
        measures.reasoning_tokens = number(tokens, "thoughts");
        let thoughts = measures.reasoning_tokens.unwrap_or(0);
        measures.output_tokens = number(tokens, "output").map(|tokens| tokens.saturating_add(thoughts));
    }
    (measures != Measures::default()).then_some(measures)
}

/// The value of a key in the difference between a record and what its messages say, which is not nested deeply.
fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let entries = value.as_object()?;
    match entries.get(key) {
        Some(found) if !found.is_null() => Some(found),
        _ => entries.values().find_map(|value| find(value, key)),
    }
}

/// Something a session of the Codex CLI says beside its items.
enum Event {
    Model(Arc<str>),
    Usage(Value),
}

fn codex_events(source: &Source) -> Vec<(usize, Event)> {
    let event = |line: &Value| {
        let payload = line.get("payload")?;
        match (line.get("type")?.as_str()?, payload.get("type").and_then(Value::as_str)) {
            ("turn_context", _) => text(payload, "model").map(Event::Model),
            ("event_msg", Some("token_count")) => {
                payload.get("info")?.get("last_token_usage").cloned().map(Event::Usage)
            }
            _ => None,
        }
    };
    let lines = source.kept_lines().filter_map(|(at, line)| Some((at, event(&line.parse().ok()?)?)));
    lines.collect()
}

fn codex_line(message: &Message) -> Option<usize> {
    let marks: Value = message.metadata.get(codex::KEY)?.parse().ok()?;
    marks.get(0)?.get("line")?.as_u64().and_then(|line| usize::try_from(line).ok())
}

fn apply(
    event: Event,
    model: &mut Option<Arc<str>>,
    answer: Option<&(usize, MessageId)>,
    all: &mut HashMap<MessageId, Measures>,
) {
    match (event, answer) {
        (Event::Model(name), _) => *model = Some(name),
        (Event::Usage(usage), Some((_, id))) => {
            let measures = all.entry(id.clone()).or_default();
            measures.model = measures.model.clone().or_else(|| model.clone());
            // Of several, each is of a call of its own.
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
