//! Search in calls, which the index of a store does not hold: names of tools, and arguments.

use std::collections::HashSet;

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
        let mut search = CallSearch {
            words: text.split_whitespace().map(str::to_lowercase).collect(),
            known: answer.hits.iter().map(|it| (it.chat.clone(), it.message.clone())).collect(),
            hits: Vec::new(),
            left: MOST_READ,
            has_more: false,
        };
        if let Some(chat) = chat {
            let view = self.branch(chat, None).await?;
            let (title, chain) = (view.chat.title.clone(), view.chain.clone());
            search = search.of(chat, title, chain).await?;
        } else {
            let chats = self.chats(None).await?;
            search.has_more = chats.next.is_some();
            for head in chats.chats {
                if search.left == 0 || search.hits.len() == MOST_HITS {
                    search.has_more = true;
                    break;
                }
                let branch = ChainEnd::Branch(BranchName::from(head.active.as_str()));
                let (of, newest) = (self.chat_ref(&head.chat), Window::Last(search.left));
                let chain = match self.history().chain(&of, &branch, &newest).await {
                    // Somebody deleted it since it was listed.
                    Err(error) if error.is_not_found() => continue,
                    chain => chain?,
                };
                search = search.of(&head.chat, head.title, chain).await?;
            }
        }
        answer.calls_left_out = search.has_more;
        answer.hits.append(&mut search.hits);
        Ok(())
    }
}

/// A search that goes from chat to chat.
struct CallSearch {
    words: Vec<String>,
    /// The chats and messages of the hits that the store found.
    known: HashSet<(String, String)>,
    hits: Vec<SearchLine>,
    /// The number of messages that may still be read.
    left: usize,
    /// Whether there are messages that were not searched.
    has_more: bool,
}

impl CallSearch {
    /// Searches a chat. Bodies are parsed, so other requests are worked on meanwhile.
    async fn of(
        mut self,
        chat: &str,
        title: Option<String>,
        chain: Chain,
    ) -> Result<Self, OperationError> {
        let chat = chat.to_owned();
        let work = move || {
            self.find(&chat, title.as_deref(), &chain);
            self
        };
        Ok(tokio::task::spawn_blocking(work).await?)
    }

    fn find(&mut self, chat: &str, title: Option<&str>, chain: &Chain) {
        self.has_more |= chain.skipped() > 0 || chain.len() > self.left;
        for node in chain.iter().rev().take(self.left) {
            let id = node.id.to_string();
            if !may_call(node) || self.known.contains(&(chat.to_owned(), id.clone())) {
                continue;
            }
            let Ok(message) = node.message() else { continue };
            let mut snippets = message.tool_calls().filter_map(|it| snippet(it, &self.words));
            let Some((snippet, cut_before, cut_after)) = snippets.next() else { continue };
            if self.hits.len() == MOST_HITS {
                self.has_more = true;
                return;
            }
            self.hits.push(SearchLine {
                chat: chat.to_owned(),
                title: title.map(str::to_owned),
                message: id,
                role: message.role.as_str(),
                created_at: node.created_at,
                snippet,
                cut_before,
                cut_after,
            });
        }
        self.left -= chain.len().min(self.left);
    }
}

/// Whether a message may have a call, by its text alone: only those are parsed.
fn may_call(node: &Node) -> bool {
    std::str::from_utf8(node.body().bytes()).is_ok_and(|body| body.contains("\"tool_call\""))
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
