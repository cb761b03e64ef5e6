//! Search in calls, which the index of a store does not hold: names of tools, and arguments.

use context_runtime::store::{Chain, ChainEnd, Node, Window};
use context_runtime::{BranchName, ToolCall};

use super::Operations;
use super::search::{SearchAnswer, SearchLine};
use crate::OperationError;

/// The number of messages that are read for one search.
const MOST_READ: usize = 20_000;
/// The largest number of hits.
const MOST_HITS: usize = 50;
/// The characters of a snippet, and those of them before the words.
const SNIPPET: usize = 240;
const BEFORE: usize = 60;

impl Operations {
    /// Adds the messages with a call that has all words in its name and its arguments, newest
    /// first, as far back as can be read in a moment.
    pub(super) async fn search_calls(
        &self,
        text: &str,
        chat: Option<&str>,
        answer: &mut SearchAnswer,
    ) -> Result<(), OperationError> {
        let words: Vec<_> = text.split_whitespace().map(str::to_lowercase).collect();
        if let Some(chat) = chat {
            let view = self.branch(chat, None).await?;
            answer.calls_left_out = view.chain.len() > MOST_READ;
            find(chat, view.chat.title.as_deref(), &view.chain, &words, &mut answer.hits);
            return Ok(());
        }
        let chats = self.chats(None).await?;
        answer.calls_left_out = chats.next.is_some();
        let mut left = MOST_READ;
        for head in chats.chats {
            if left == 0 || answer.hits.len() >= MOST_HITS {
                answer.calls_left_out = true;
                break;
            }
            let branch = ChainEnd::Branch(BranchName::from(head.active.as_str()));
            let of = self.chat_ref(&head.chat);
            let chain = self.history().chain(&of, &branch, &Window::Last(left)).await?;
            left -= chain.len().min(left);
            find(&head.chat, head.title.as_deref(), &chain, &words, &mut answer.hits);
        }
        Ok(())
    }
}

fn find(
    chat: &str,
    title: Option<&str>,
    chain: &Chain,
    words: &[String],
    hits: &mut Vec<SearchLine>,
) {
    let known: Vec<_> = hits.iter().map(|hit| (hit.chat.clone(), hit.message.clone())).collect();
    let is_known = |node: &Node| known.iter().any(|(of, id)| of == chat && id == node.id.as_str());
    // Only what may have a call is parsed.
    let has_call = |node: &Node| {
        let body = std::str::from_utf8(node.body().bytes());
        body.is_ok_and(|body| body.contains("\"tool_call\""))
    };
    let newest = chain.iter().rev().take(MOST_READ);
    for node in newest.filter(|node| has_call(node) && !is_known(node)) {
        if hits.len() >= MOST_HITS {
            return;
        }
        let Ok(message) = node.message() else { continue };
        let mut snippets = message.tool_calls().filter_map(|call| snippet(call, words));
        if let Some((snippet, cut_before, cut_after)) = snippets.next() {
            hits.push(SearchLine {
                chat: chat.to_owned(),
                title: title.map(str::to_owned),
                message: node.id.to_string(),
                role: message.role.as_str(),
                created_at: node.created_at,
                snippet,
                cut_before,
                cut_after,
            });
        }
    }
}

/// The pieces of a snippet, and whether text precedes and follows it.
type Snippet = (Vec<(String, bool)>, bool, bool);

/// Returns a call around its first word, if it has all words.
fn snippet(call: &ToolCall, words: &[String]) -> Option<Snippet> {
    let text = format!("{} {}", call.name, call.input.as_written());
    // Lower case may be longer than what it is of, so places are found in the text itself.
    let folded: Vec<char> = text.chars().map(|it| it.to_lowercase().next().unwrap_or(it)).collect();
    let place = |word: &str| {
        let word: Vec<char> = word.chars().collect();
        folded.windows(word.len().max(1)).position(|window| *window == *word)
    };
    let places: Option<Vec<_>> =
        words.iter().map(|word| Some((place(word)?, word.chars().count()))).collect();
    let (at, length) = places?.into_iter().min()?;
    let characters: Vec<char> = text.chars().collect();
    let from = at.saturating_sub(BEFORE);
    let to = (from + SNIPPET).max(at + length).min(characters.len());
    let piece = |range: std::ops::Range<usize>| characters.get(range).unwrap_or_default();
    let pieces = [(from..at, false), (at..at + length, true), (at + length..to, false)];
    let pieces = pieces.into_iter().map(|(range, is_hit)| (piece(range).iter().collect(), is_hit));
    let pieces = pieces.filter(|(text, _): &(String, bool)| !text.is_empty()).collect();
    Some((pieces, from > 0, to < characters.len()))
}
