//! Old results of tools that the provider leaves out of a request before the model reads it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use context_core::base::JsonMap;
use context_core::history::ToolNames;
use context_core::model::Tool;
use context_core::{Json, Message, ModelRequest, Part};
use serde_json::{Map, Value, json};

/// The wire form whose provider clears results.
const PROVIDER: &str = "anthropic";
/// The metadata key of further keys of its bodies, and the key for context editing.
const BODY: &str = "anthropic.body";
const MANAGEMENT: &str = "context_management";
const CLEAR: &str = "clear_tool_uses_20250919";
/// The tokens of the text that the provider puts in the place of a result.
const PLACEHOLDER: u64 = 12;

/// Lets the provider clear old results of tools in each request: context editing, as Anthropic
/// offers it. Other providers are sent whole requests.
///
/// The history is not changed, neither here nor in a store, so there is nothing to undo: a runtime
/// without this setting sends everything again. Results that are pinned stay, with all that follow
/// them, and so do those of tools whose results are [working state](ToolNames::stateful). The
/// cleared tokens do not count against the window, by estimate before the first answer and by the
/// provider's report after it.
///
/// Each further result that is cleared changes the request where it stood, so the provider reads
/// again what follows: the results that are kept.
///
/// Source: the guide *Context editing* of the provider, October 2026. Its defaults are those here.
///
/// ```
/// use context_runtime::{DefaultContextRuntime, ProviderClearing};
///
/// let runtime = DefaultContextRuntime::builder()
///     .model("claude-opus-5-5")
///     .provider_clearing(ProviderClearing::new().trigger(60_000).keep(5))
///     .build()?;
/// # Ok::<(), context_runtime::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct ProviderClearing {
    trigger: u64,
    keep: usize,
    at_least: u64,
    protected: ToolNames,
}

impl Default for ProviderClearing {
    fn default() -> Self {
        Self { trigger: 100_000, keep: 3, at_least: 0, protected: ToolNames::stateful() }
    }
}

impl ProviderClearing {
    /// Creates a setting that clears from 100,000 tokens of input on, all results but the newest
    /// three.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of input tokens above which results are cleared.
    pub fn trigger(mut self, tokens: u64) -> Self {
        self.trigger = tokens;
        self
    }

    /// Sets how many of the newest calls keep their results.
    pub fn keep(mut self, calls: usize) -> Self {
        self.keep = calls;
        self
    }

    /// Sets the least number of tokens that are cleared, if any are. Default: any number.
    pub fn at_least(mut self, tokens: u64) -> Self {
        self.at_least = tokens;
        self
    }

    /// Sets the tools whose results are never cleared, instead of the
    /// [stateful](ToolNames::stateful) ones.
    pub fn protect(mut self, tools: ToolNames) -> Self {
        self.protected = tools;
        self
    }

    /// Returns what the provider will clear of a request with these messages and this many tokens
    /// in total. `tokens` are those of each message.
    pub(super) fn of(
        &self,
        provider: &str,
        messages: &[Arc<Message>],
        total: u64,
        tokens: impl Fn(usize) -> u64,
    ) -> Cleared {
        if provider != PROVIDER {
            return Cleared::default();
        }
        let kept = self.kept(messages);
        let mut cleared = Cleared { keep: Some(kept), ..Cleared::default() };
        if total <= self.trigger {
            return cleared;
        }
        let calls = messages.iter().flat_map(|message| message.tool_calls());
        let names: HashMap<&str, &str> =
            calls.map(|call| (call.id.as_str(), call.name.as_str())).collect();
        let results = messages.iter().map(|message| message.tool_results().count()).sum::<usize>();
        let mut left = results.saturating_sub(kept);
        for (at, message) in messages.iter().enumerate() {
            if left == 0 {
                break;
            }
            let (mut bytes, mut all) = (0, 0);
            for part in &message.parts {
                let size = bytes_of(part);
                all += size;
                let Part::ToolResult(result) = part else { continue };
                if left == 0 {
                    continue;
                }
                left -= 1;
                let name = names.get(result.call_id.as_str()).copied().or(result.name.as_deref());
                if !name.is_some_and(|name| self.protected.contains(name)) {
                    bytes += size;
                }
            }
            let share = bytes as f64 / all.max(1) as f64;
            let saved = ((tokens(at) as f64 * share) as u64).saturating_sub(PLACEHOLDER);
            if bytes > 0 && saved > 0 {
                cleared.messages.insert(at, saved);
            }
        }
        cleared.total = cleared.messages.values().sum();
        if cleared.total < self.at_least {
            (cleared.total, cleared.messages) = (0, BTreeMap::new());
        }
        cleared
    }

    /// Returns how many of the newest calls keep their results, so that pinned ones do.
    fn kept(&self, messages: &[Arc<Message>]) -> usize {
        // A pinned call keeps its result, which follows it.
        let is_step = |message: &Message| {
            message.tool_results().next().is_some() || message.tool_calls().next().is_some()
        };
        let first = messages.iter().position(|it| it.is_pinned() && is_step(it));
        let Some(first) = first else { return self.keep };
        let results = messages[first..].iter().map(|message| message.tool_results().count());
        self.keep.max(results.sum())
    }

    /// Asks the provider for it, unless the program asks for other edits itself.
    pub(super) fn ask(&self, cleared: &Cleared, request: &mut ModelRequest) {
        let Some(keep) = cleared.keep else { return };
        let own = request.metadata.get(BODY).and_then(|body| body.parse::<JsonMap>().ok());
        let mut body = own.unwrap_or_default();
        if body.contains_key(MANAGEMENT) {
            return;
        }
        let names = request.tools.iter().filter_map(|tool| match tool {
            Tool::Function(function) => Some(function.name.as_str()),
            _ => None,
        });
        let protected: Vec<&str> = names.filter(|name| self.protected.contains(name)).collect();
        let mut edit = Map::new();
        edit.insert("type".to_owned(), CLEAR.into());
        edit.insert("trigger".to_owned(), json!({"type": "input_tokens", "value": self.trigger}));
        edit.insert("keep".to_owned(), json!({"type": "tool_uses", "value": keep}));
        if self.at_least > 0 {
            let least = json!({"type": "input_tokens", "value": self.at_least});
            edit.insert("clear_at_least".to_owned(), least);
        }
        if !protected.is_empty() {
            edit.insert("exclude_tools".to_owned(), json!(protected));
        }
        let edits = json!({"edits": [Value::Object(edit)]});
        body.insert(MANAGEMENT.to_owned(), Json::from(edits));
        if let Ok(body) = Json::from_serialize(&body) {
            request.metadata.insert(BODY, body);
        }
    }
}

/// The results that the provider clears of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cleared {
    /// The number of newest calls that keep their results. `None` if the provider is not asked.
    keep: Option<usize>,
    /// The cleared tokens by message.
    messages: BTreeMap<usize, u64>,
    /// The sum of cleared tokens.
    pub(super) total: u64,
}

impl Cleared {
    /// Returns the cleared tokens of a message.
    pub(super) fn of_message(&self, at: usize) -> u64 {
        self.messages.get(&at).copied().unwrap_or(0)
    }

    /// Returns the first message whose results are cleared and were not before, when those in front
    /// of `before` were.
    pub(super) fn first_from(&self, before: usize) -> Option<usize> {
        self.messages.range(before..).next().map(|(at, _)| *at)
    }

    /// Returns the cleared tokens of the messages in front of a position.
    pub(super) fn before(&self, at: usize) -> u64 {
        self.messages.range(..at).map(|(_, tokens)| tokens).sum()
    }

    /// Returns the position behind the last message with cleared results.
    pub(super) fn end(&self) -> usize {
        self.messages.last_key_value().map_or(0, |(at, _)| at + 1)
    }
}

/// Returns about how large a part is.
fn bytes_of(part: &Part) -> usize {
    let (mut bytes, mut left) = (0, vec![part]);
    while let Some(part) = left.pop() {
        bytes += match part {
            Part::Text(text) => text.text.len(),
            Part::ToolCall(call) => call.name.len() + call.input.as_written().len(),
            Part::ToolResult(result) => {
                left.extend(&result.output);
                16
            }
            Part::Reasoning(thought) => thought.text.len(),
            // As large as a few thousand tokens of text.
            Part::Image(_) | Part::Document(_) | Part::Audio(_) => 6_000,
            Part::Data(_) => 0,
            Part::Opaque(block) => block.value.as_str().len(),
            Part::Unknown(json) => json.as_str().len(),
            _ => 0,
        };
    }
    bytes
}
