//! The search of a conversation.

use std::fmt::Write as _;

use context_core::ToolCall;
use context_core::model::FunctionTool;
use context_core::store::{SearchQuery, SearchScope};
use serde::Deserialize;
use serde_json::json;

use super::{HistoryTools, MOST_REPEATED, arguments, beginning, numbers, unavailable};

/// The number of hits, unless the model asks for another one.
const HITS: usize = 10;
/// The most hits of a call.
const MOST_HITS: usize = 25;
/// The maximum number of bytes of a hit's text.
const MOST_SNIPPET: usize = 240;

pub(super) fn tool() -> FunctionTool {
    let schema = json!({
        "type": "object",
        "properties": {
            "words": {"type": "string", "description": "The words that a message must have, all of them, in any order."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST_HITS, "description": "The most messages to list; 10 if left out."},
        },
        "required": ["words"],
    });
    FunctionTool::new(HistoryTools::SEARCH, schema).description(
        "Finds earlier messages of this conversation by their words, also those that are no longer shown to you. Then read_messages shows them in full.",
    )
}

#[derive(Deserialize)]
struct Arguments {
    words: String,
    limit: Option<usize>,
}

impl HistoryTools<'_> {
    pub(super) async fn search(&self, call: &ToolCall) -> Result<String, String> {
        let Arguments { words, limit } = arguments(call)?;
        let Some(search) = self.store.search() else {
            return Err("This conversation cannot be searched.".to_owned());
        };
        let mut query = SearchQuery::new(self.chat.user.clone(), words.clone());
        query.scope = SearchScope::Branch(self.chat.chat.clone(), self.branch.clone());
        query.limit = limit.unwrap_or(HITS).clamp(1, MOST_HITS);
        query.check().map_err(|error| format!("The search is not possible: {error}."))?;
        let page = search.search(&query).await.map_err(unavailable)?;
        let ids: Vec<_> = page.items.iter().map(|hit| hit.message.clone()).collect();
        let numbers = numbers(self.store.history(), &self.chat, &ids).await.map_err(unavailable)?;
        let quoted = beginning(&words, MOST_REPEATED);
        if page.items.is_empty() {
            return Ok(format!(
                "No message has all of these words: {quoted}. Try fewer, or other ones."
            ));
        }
        let mut text = format!("[messages with the words: {quoted}]\n");
        for (hit, number) in page.items.iter().zip(numbers) {
            let Some(number) = number else { continue };
            let snippet = hit.snippet.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let (before, after) = (mark(hit.snippet.cut_before), mark(hit.snippet.cut_after));
            let snippet = beginning(&snippet, MOST_SNIPPET);
            let _infallible = writeln!(
                text,
                "#{number} {}, {}: {before}{snippet}{after}",
                hit.role,
                hit.created_at.to_day()
            );
        }
        if page.next.is_some() {
            text.push_str("There are more; add words to narrow the search.\n");
        }
        Ok(text)
    }
}

fn mark(cut: bool) -> &'static str {
    if cut { "…" } else { "" }
}
