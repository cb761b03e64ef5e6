//! A request as the prompt cache sees it: tools, system prompt and messages, block by block.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::cache::USUAL;

/// The key of a cache breakpoint, which is not part of the prompt.
const MARK: &str = "cache_control";
/// The keys of the output format, which the model sees before everything else.
const FRONT: [&str; 3] = ["response_format", "text", "output_config"];
/// The keys of settings that affect messages, but not tools and system prompt.
const SETTINGS: [&str; 2] = ["tool_choice", "thinking"];

/// The lifetime of a cache breakpoint for an hour.
const HOUR: Duration = Duration::from_secs(3_600);
/// The lifetime of the entries of a body that asks for a day.
const DAY: Duration = Duration::from_secs(86_400);

/// The keys of a provider's prompt.
struct Layout {
    system: &'static str,
    messages: &'static str,
    blocks: &'static str,
}

fn layout(provider: &str) -> Layout {
    let (system, messages, blocks) = match provider {
        "anthropic" => ("system", "messages", "content"),
        "gemini" => ("systemInstruction", "contents", "parts"),
        "openai-responses" => ("instructions", "input", "content"),
        _ => ("", "messages", "content"),
    };
    Layout { system, messages, blocks }
}

/// The end of a prefix of the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptPosition {
    /// After this many tools.
    Tools(usize),
    /// After all tools and this many blocks of the system prompt.
    System(usize),
    /// After tools, system prompt, this many messages, and this many blocks of the next message.
    Messages(usize, usize),
}

/// A place where a cache entry may end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Boundary {
    /// The hash of the prefix up to this boundary.
    pub(super) hash: u64,
    pub(super) position: PromptPosition,
    /// Whether the request has a cache breakpoint here.
    pub(super) marked: bool,
    /// The lifetime of an entry that ends here.
    pub(super) lifetime: Duration,
}

/// Returns all boundaries of a request, in order.
pub(super) fn boundaries(provider: &str, model: &str, body: &Value) -> Vec<Boundary> {
    let layout = layout(provider);
    let is_openai = provider.starts_with("openai");
    let retention = body.get("prompt_cache_retention").and_then(Value::as_str);
    let lifetime = if is_openai && retention == Some("24h") { DAY } else { USUAL };
    let mut walk = PromptWalk { hasher: DefaultHasher::new(), boundaries: Vec::new(), lifetime };
    model.hash(&mut walk.hasher);
    if is_openai && let Some(key) = body.get("prompt_cache_key").and_then(Value::as_str) {
        // Requests with different keys go to different caches.
        key.hash(&mut walk.hasher);
    }
    walk.settings(body, &FRONT);
    for (i, tool) in list(body.get("tools")).iter().enumerate() {
        walk.block(tool, PromptPosition::Tools(i + 1));
    }
    "system".hash(&mut walk.hasher);
    walk.blocks(
        body.get(layout.system).map(|system| system.get(layout.blocks).unwrap_or(system)),
        PromptPosition::System,
    );
    if provider == "anthropic" {
        walk.settings(body, &SETTINGS);
    }
    "messages".hash(&mut walk.hasher);
    let messages = body.get(layout.messages);
    if messages.is_some_and(Value::is_string) {
        walk.blocks(messages, |n| PromptPosition::Messages(n, 0));
    }
    for (i, message) in list(messages).iter().enumerate() {
        let rest =
            message.as_object().into_iter().flatten().filter(|(key, _)| *key != layout.blocks);
        for (key, value) in rest {
            key.hash(&mut walk.hasher);
            walk.feed(value);
        }
        match message.get(layout.blocks) {
            Some(blocks) => walk.blocks(Some(blocks), |n| PromptPosition::Messages(i, n)),
            None => walk.boundaries.push(Boundary {
                hash: walk.hasher.finish(),
                position: PromptPosition::Messages(i + 1, 0),
                marked: false,
                lifetime,
            }),
        }
    }
    walk.boundaries
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

struct PromptWalk {
    hasher: DefaultHasher,
    boundaries: Vec<Boundary>,
    /// The lifetime of entries whose breakpoint names none.
    lifetime: Duration,
}

impl PromptWalk {
    fn settings(&mut self, body: &Value, keys: &[&str]) {
        for key in keys {
            if let Some(value) = body.get(key) {
                key.hash(&mut self.hasher);
                self.feed(value);
            }
        }
    }

    /// Adds blocks. A plain text is the same as a single text block.
    fn blocks(&mut self, blocks: Option<&Value>, position: impl Fn(usize) -> PromptPosition) {
        match blocks {
            Some(Value::String(text)) => {
                self.block(&json!({"type": "text", "text": text}), position(1))
            }
            blocks => {
                for (i, block) in list(blocks).iter().enumerate() {
                    self.block(block, position(i + 1));
                }
            }
        }
    }

    fn block(&mut self, block: &Value, position: PromptPosition) {
        self.feed(block);
        let mark = block.get(MARK).filter(|mark| !mark.is_null());
        let ttl = mark.and_then(|mark| mark.get("ttl")).and_then(Value::as_str);
        let lifetime = if ttl == Some("1h") { HOUR } else { self.lifetime };
        let (hash, marked) = (self.hasher.finish(), mark.is_some());
        self.boundaries.push(Boundary { hash, position, marked, lifetime });
    }

    /// Adds a value without its cache breakpoints. Recursion is bounded, since bodies are parsed
    /// with a depth limit.
    fn feed(&mut self, value: &Value) {
        match value {
            Value::Array(items) => {
                '['.hash(&mut self.hasher);
                items.iter().for_each(|item| self.feed(item));
                ']'.hash(&mut self.hasher);
            }
            Value::Object(map) => {
                '{'.hash(&mut self.hasher);
                for (key, value) in map.iter().filter(|(key, _)| *key != MARK) {
                    key.hash(&mut self.hasher);
                    self.feed(value);
                }
                '}'.hash(&mut self.hasher);
            }
            Value::String(text) => text.hash(&mut self.hasher),
            plain => plain.to_string().hash(&mut self.hasher),
        }
    }
}

/// Returns the body of the request up to a place.
pub(super) fn cut(provider: &str, body: &Value, position: PromptPosition) -> Value {
    let layout = layout(provider);
    let mut out = Map::new();
    for (key, value) in body.as_object().into_iter().flatten() {
        let kept = match key.as_str() {
            "tools" => match position {
                PromptPosition::Tools(n) => first(value, n),
                _ => value.clone(),
            },
            key if key == layout.system => match position {
                PromptPosition::Tools(_) => continue,
                PromptPosition::System(n) => match value.get(layout.blocks) {
                    Some(blocks) => with_value(value, layout.blocks, first(blocks, n)),
                    None => first(value, n),
                },
                PromptPosition::Messages(..) => value.clone(),
            },
            key if key == layout.messages => match position {
                PromptPosition::Messages(messages, blocks) => {
                    cut_messages(value, messages, blocks, &layout)
                }
                _ => Value::Array(Vec::new()),
            },
            _ => value.clone(),
        };
        out.insert(key.clone(), kept);
    }
    Value::Object(out)
}

fn cut_messages(messages: &Value, whole: usize, blocks: usize, layout: &Layout) -> Value {
    let Value::Array(items) = messages else { return messages.clone() };
    let mut kept: Vec<Value> = items.iter().take(whole).cloned().collect();
    if let Some(next) = items.get(whole).filter(|_| blocks > 0) {
        kept.push(match next.get(layout.blocks) {
            Some(content) => with_value(next, layout.blocks, first(content, blocks)),
            None => next.clone(),
        });
    }
    Value::Array(kept)
}

/// Returns an object with the value under a key replaced.
fn with_value(object: &Value, key: &str, value: Value) -> Value {
    let mut object = object.clone();
    object[key] = value;
    object
}

/// Returns the first items of a list, or any other value unchanged.
fn first(value: &Value, n: usize) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().take(n).cloned().collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(last: &str, marked: bool) -> Value {
        let mut block = json!({"type": "text", "text": last});
        if marked {
            block[MARK] = json!({"type": "ephemeral"});
        }
        json!({
            "model": "m", "tools": [{"name": "a"}, {"name": "b"}], "system": "Be brief.",
            "messages": [{"role": "user", "content": "q"},
                {"role": "assistant", "content": [block]}],
        })
    }

    #[test]
    fn marks_and_the_way_a_text_is_written_change_nothing() {
        let (plain, marked) = (
            boundaries("anthropic", "m", &body("x", false)),
            boundaries("anthropic", "m", &body("x", true)),
        );
        let hashes = |all: &[Boundary]| all.iter().map(|at| at.hash).collect::<Vec<_>>();
        assert_eq!(hashes(&plain), hashes(&marked));
        assert!(marked.last().is_some_and(|at| at.marked) && plain.iter().all(|at| !at.marked));
        let mut as_blocks = body("x", false);
        as_blocks["system"] = json!([{"type": "text", "text": "Be brief."}]);
        assert_eq!(hashes(&plain), hashes(&boundaries("anthropic", "m", &as_blocks)));
        let other = boundaries("anthropic", "m", &body("y", false));
        assert_eq!(hashes(&plain)[..4], hashes(&other)[..4]);
        assert_ne!(hashes(&plain)[4], hashes(&other)[4]);
        assert_ne!(hashes(&plain)[0], hashes(&boundaries("anthropic", "n", &body("x", false)))[0]);
    }

    #[test]
    fn a_body_is_cut_where_it_is_told() {
        let body = body("x", false);
        let tools = cut("anthropic", &body, PromptPosition::Tools(1));
        assert_eq!(tools, json!({"model": "m", "tools": [{"name": "a"}], "messages": []}));
        let system = cut("anthropic", &body, PromptPosition::System(1));
        assert_eq!((&system["system"], &system["messages"]), (&body["system"], &json!([])));
        let one = cut("anthropic", &body, PromptPosition::Messages(0, 1));
        assert_eq!(one["messages"], json!([{"role": "user", "content": "q"}]));
        let whole = boundaries("anthropic", "m", &body).last().map(|at| at.position);
        assert_eq!(whole.map(|position| cut("anthropic", &body, position)), Some(body));
    }
}
