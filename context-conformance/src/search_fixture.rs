//! Fixture for search, so that a case is a few readable lines.

use context_core::store::{Page, SearchHit, SearchQuery, SearchScope, SearchStore};

use crate::chat_fixture::{ChatFixture, owned};
use crate::expect::{fail, same};
use crate::verdict::{Check, Stop};

/// The number of pages after which a listing is considered endless.
const MOST_PAGES: usize = 10_000;

impl ChatFixture {
    pub(crate) fn search(&self) -> Check<&dyn SearchStore> {
        self.store.search().ok_or_else(|| Stop::Skip("no search".to_owned()))
    }

    /// Builds a search of everything that this chat's user has.
    pub(crate) fn asks(&self, text: &str) -> SearchQuery {
        SearchQuery { limit: 1000, ..SearchQuery::new(&self.chat.user, text) }
    }

    /// Builds a search of this chat.
    pub(crate) fn asks_chat(&self, text: &str) -> SearchQuery {
        SearchQuery { scope: SearchScope::Chat(self.chat.chat.clone()), ..self.asks(text) }
    }

    /// Builds a search of one branch of this chat.
    pub(crate) fn asks_branch(&self, branch: &str, text: &str) -> SearchQuery {
        let scope = SearchScope::Branch(self.chat.chat.clone(), branch.into());
        SearchQuery { scope, ..self.asks(text) }
    }

    pub(crate) async fn page(&self, query: &SearchQuery) -> Check<Page<SearchHit>> {
        Ok(self.search()?.search(query).await?)
    }

    /// Returns all hits, page by page, in order.
    pub(crate) async fn hits(&self, query: &SearchQuery) -> Check<Vec<SearchHit>> {
        let (mut query, mut hits) = (query.clone(), Vec::new());
        for _ in 0..MOST_PAGES {
            let page = self.page(&query).await?;
            hits.extend(page.items);
            query.after = page.next;
            if query.after.is_none() {
                return Ok(hits);
            }
        }
        fail(format!("searching for {:?}: more than {MOST_PAGES} pages", query.text))
    }

    /// Expects a search to find exactly these messages, in any order.
    pub(crate) async fn expect_found(&self, query: &SearchQuery, expected: &[&str]) -> Check {
        let hits = self.hits(query).await?;
        let mut seen: Vec<_> = hits.into_iter().map(|hit| hit.message.to_string()).collect();
        let mut expected = owned(expected);
        seen.sort();
        expected.sort();
        let how = if query.prefix { " (prefix)" } else { "" };
        let SearchQuery { text, scope, roles, .. } = query;
        same(
            format!("searching for {text:?}{how} in {scope:?} of roles {roles:?}"),
            &seen,
            &expected,
        )
    }

    /// Expects a search of the user's chats to find exactly these messages.
    pub(crate) async fn finds(&self, text: &str, expected: &[&str]) -> Check {
        self.expect_found(&self.asks(text), expected).await
    }
}
