//! Reading a range of messages.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use context_core::base::limits;
use context_core::model::FunctionTool;
use context_core::store::{ChainEnd, Window};
use context_core::{Node, Part, ToolCall, ToolResult};
use serde::Deserialize;
use serde_json::json;

use super::{HistoryTools, MOST_BYTES, arguments, beginning, unavailable};
use crate::Spilled;
use crate::display::{self, role};

pub(super) fn tool() -> FunctionTool {
    let schema = json!({
        "type": "object",
        "properties": {
            "first": {"type": "integer", "minimum": 1, "description": "The number of the first message; the conversation begins with 1."},
            "last": {"type": "integer", "minimum": 1, "description": "The number of the last message; only the first one is shown if left out."},
            "offset": {"type": "integer", "minimum": 0, "description": "For a single long message: the byte to begin with."},
        },
        "required": ["first"],
    });
    FunctionTool::new(HistoryTools::READ, schema).description(format!(
        "Shows messages of this conversation in full by their numbers, also those that are no longer shown to you, at most {MOST_BYTES} bytes at a time."
    ))
}

#[derive(Deserialize)]
struct Arguments {
    first: u64,
    last: Option<u64>,
    #[serde(default)]
    offset: usize,
}

impl HistoryTools<'_> {
    pub(super) async fn read(&self, call: &ToolCall) -> Result<String, String> {
        let Arguments { first, last, offset } = arguments(call)?;
        let total = self.count().await.map_err(unavailable)?;
        let last = last.unwrap_or(first).min(total);
        if first == 0 || first > last {
            return Err(format!(
                "There is no message {first}: they are numbered from 1 to {total}."
            ));
        }
        if offset > 0 && first != last {
            return Err("An offset needs a single message: leave `last` out.".to_owned());
        }
        let from_end = usize::try_from(total - first + 1).unwrap_or(usize::MAX);
        let end = ChainEnd::Branch(self.branch.clone());
        let history = self.store.history();
        let read = history.chain(&self.chat, &end, &Window::Last(from_end)).await;
        let mut chain = read.map_err(unavailable)?;
        if chain.skipped() >= first {
            // Others have added messages since these were counted, so the end is another one.
            let read = history.chain(&self.chat, &end, &Window::Whole).await;
            chain = read.map_err(unavailable)?;
        }
        let from = |number: u64| {
            usize::try_from(number.saturating_sub(chain.skipped())).unwrap_or(usize::MAX)
        };
        let (skip, count) = (from(first - 1), from(last) - from(first - 1));
        let nodes: Vec<_> = chain.iter().skip(skip).take(count).cloned().collect();
        match &nodes[..] {
            [] => Err(format!("There is no message {first} any more.")),
            [one] => self.part(one, first, total, offset).await,
            several => Ok(range(several, first, total)),
        }
    }

    /// Shows a part of one message, with its spilled results in full.
    async fn part(
        &self,
        node: &Arc<Node>,
        number: u64,
        total: u64,
        offset: usize,
    ) -> Result<String, String> {
        let text = self.whole_text(node).await;
        if offset > 0 && offset >= text.len() {
            return Err(format!("Message {number} has {} bytes.", text.len()));
        }
        let start = text.floor_char_boundary(offset);
        let shown = beginning(&text[start..], MOST_BYTES);
        let end = start + shown.len();
        let mut out = format!("[message {number} of {total}");
        if start > 0 || end < text.len() {
            let _infallible = write!(out, ", bytes {start} to {end} of {}", text.len());
        }
        if end < text.len() {
            let _infallible = write!(out, "; go on with offset {end}");
        }
        let _infallible = write!(out, "]\n{}\n{shown}", head(node, number));
        Ok(out)
    }

    async fn whole_text(&self, node: &Node) -> String {
        let Ok(message) = node.message() else { return display::node_preview(node) };
        let mut texts = Vec::with_capacity(message.parts.len());
        for part in &message.parts {
            let whole = match part {
                Part::ToolResult(result) => self.spilled(result).await,
                _ => None,
            };
            texts.push(whole.map_or_else(|| display::part(part), Cow::Owned));
        }
        texts.join("\n")
    }

    /// Returns a spilled result in full. `None` if it was not spilled, or can no longer be read.
    async fn spilled(&self, result: &ToolResult) -> Option<String> {
        let spilled = Spilled::of(&result.metadata)?;
        let whole = 0..limits::MAX_BLOB_BYTES as u64;
        let read = self.store.blobs()?.read_blob(&self.chat, &spilled.blob, whole, None);
        let bytes = read.await.ok()??;
        let name = result.name.as_deref().unwrap_or(&result.call_id);
        let failed = if result.is_error { " failed:" } else { "" };
        Some(format!("← {name}{failed} {}", std::str::from_utf8(&bytes).ok()?))
    }
}

/// Shows whole messages while they fit.
fn range(nodes: &[Arc<Node>], first: u64, total: u64) -> String {
    let (mut shown, mut next) = (String::new(), first);
    for node in nodes {
        let text = match node.message() {
            Ok(message) => message.parts.iter().map(display::part).collect::<Vec<_>>().join("\n"),
            Err(_) => display::node_preview(node),
        };
        let entry = format!("\n{}\n{text}\n", head(node, next));
        if shown.len() + entry.len() > MOST_BYTES {
            break;
        }
        shown.push_str(&entry);
        next += 1;
    }
    let last = first + nodes.len() as u64 - 1;
    match next {
        next if next == first => {
            let entry = head(&nodes[0], first);
            format!(
                "[message {first} of {total} is too long to show with others; read it alone]\n{entry}"
            )
        }
        next if next > last => format!("[messages {first} to {last} of {total}]{shown}"),
        next => {
            let to = next - 1;
            format!("[messages {first} to {to} of {total}; go on with first {next}]{shown}")
        }
    }
}

fn head(node: &Node, number: u64) -> String {
    let pinned = node.message().is_ok_and(|message| message.is_pinned());
    let pinned = if pinned { ", pinned" } else { "" };
    format!("#{number} {}, {}{pinned}", role(node), node.created_at.to_day())
}
