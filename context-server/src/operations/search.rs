//! Search over everything that was said.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use context_runtime::store::{Cursor, SearchQuery, SearchScope};
use context_runtime::{ChatId, Timestamp, limits};
use serde::Serialize;
use utoipa::ToSchema;

use super::Operations;
use crate::OperationError;

/// The number of hits in a page.
const PAGE: usize = 50;

/// A page of hits.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
#[non_exhaustive]
pub struct SearchAnswer {
    /// The hits, best first.
    pub hits: Vec<SearchLine>,
    /// The cursor of the next page. `None` on the last page.
    pub next: Option<String>,
    /// Whether there are older messages whose calls were not searched.
    pub calls_left_out: bool,
    /// The title of the chat that was searched, if it was one chat and has a title.
    pub title: Option<String>,
}

/// A message with the words.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[non_exhaustive]
pub struct SearchLine {
    /// The chat.
    pub chat: String,
    /// The title of the chat, if it has one.
    pub title: Option<String>,
    /// The message.
    pub message: String,
    /// The role of its author.
    pub role: &'static str,
    /// The creation time, in microseconds since 1970.
    #[schema(value_type = i64)]
    pub created_at: Timestamp,
    /// The part of the text around the words: pieces, and whether each is a hit.
    #[schema(value_type = Vec<Vec<Value>>)]
    pub snippet: Vec<(String, bool)>,
    /// Whether text precedes the snippet.
    pub cut_before: bool,
    /// Whether text follows the snippet.
    pub cut_after: bool,
}

impl Operations {
    /// Returns the messages that have all words of `text`, best first: of one chat, or of all. The
    /// last word may be the beginning of a longer one. Then come messages with a call that has them
    /// in its name or its arguments.
    pub async fn search(
        &self,
        text: &str,
        chat: Option<&str>,
        after: Option<&str>,
    ) -> Result<SearchAnswer, OperationError> {
        let title = match chat {
            Some(chat) => self.title_of(chat).await?,
            None => None,
        };
        if text.trim().is_empty() {
            return Ok(SearchAnswer { title, ..SearchAnswer::default() });
        }
        let search = self.store.search();
        let search = search.ok_or(OperationError::Missing { ability: "full-text search" })?;
        let mut query = SearchQuery::new(self.user.clone(), text);
        query.prefix = !text.ends_with(char::is_whitespace);
        query.limit = PAGE.min(limits::MAX_PAGE);
        query.after = after.map(Cursor::new);
        if let Some(chat) = chat {
            query.scope = SearchScope::Chat(ChatId::from(chat));
        }
        let page = search.search(&query).await?;
        let mut titles = HashMap::new();
        for hit in &page.items {
            if let Entry::Vacant(new) = titles.entry(hit.chat.chat.clone()) {
                new.insert(self.title_of(hit.chat.chat.as_str()).await?);
            }
        }
        let hits = page.items.into_iter().map(|hit| {
            let text = &hit.snippet.text;
            let mut snippet = Vec::new();
            let mut done = 0;
            for mark in &hit.snippet.marks {
                let (Some(before), Some(marked)) =
                    (text.get(done..mark.start), text.get(mark.clone()))
                else {
                    continue;
                };
                snippet.push((before.to_owned(), false));
                snippet.push((marked.to_owned(), true));
                done = mark.end;
            }
            snippet.push((text.get(done..).unwrap_or_default().to_owned(), false));
            snippet.retain(|(piece, _)| !piece.is_empty());
            SearchLine {
                title: titles.get(&hit.chat.chat).cloned().flatten(),
                chat: hit.chat.chat.to_string(),
                message: hit.message.to_string(),
                role: hit.role.as_str(),
                created_at: hit.created_at,
                snippet,
                cut_before: hit.snippet.cut_before,
                cut_after: hit.snippet.cut_after,
            }
        });
        let mut answer = SearchAnswer {
            hits: hits.collect(),
            next: page.next.map(|next| next.as_str().to_owned()),
            calls_left_out: false,
            title,
        };
        if answer.next.is_none() {
            self.search_calls(text, chat, &mut answer).await?;
        }
        Ok(answer)
    }

    async fn title_of(&self, chat: &str) -> Result<Option<String>, OperationError> {
        Ok(self.history().chat(&self.chat_ref(chat)).await?.and_then(|chat| chat.title))
    }
}
