//! Mutants of search and maintenance.

use std::path::Path;

use async_trait::async_trait;
use context_core::base::limits::MAX_PAGE;
use context_core::store::{
    ChatQuery, CheckReport, Cursor, Erasure, Maintenance, NewChat, Page, SearchHit, SearchQuery,
    SearchScope, SearchStore, Snippet, StoreFacts, Vacuumed,
};
use context_core::{CancelSignal, ChatRef, Result, Store, Timestamp, UserId};

use crate::fault::Fault;
use crate::mutant::{BrokenStore, lock};

impl BrokenStore {
    fn searcher(&self) -> &dyn SearchStore {
        self.inner.search().expect("the reference store searches")
    }

    fn inner_maintenance(&self) -> &dyn Maintenance {
        self.inner.maintenance().expect("the reference store has it")
    }

    /// Searches the stored form of messages.
    async fn in_json(&self, query: &SearchQuery) -> Result<Vec<SearchHit>> {
        let mut hits = Vec::new();
        for item in self.inner.history().list_chats(&ChatQuery::new(&query.user)).await?.items {
            let page = self.inner.history().all_messages(&item.chat.chat, MAX_PAGE, None).await?;
            for placed in page.items {
                let stored = String::from_utf8_lossy(placed.node.body().bytes()).into_owned();
                if let Some(role) = placed.node.role().filter(|_| stored.contains(&query.text)) {
                    let (chat, id) = (item.chat.chat.clone(), placed.node.id.clone());
                    hits.push(SearchHit::new(
                        chat,
                        id,
                        (role, Timestamp::default()),
                        1.0,
                        Snippet::default(),
                    ));
                }
            }
        }
        Ok(hits)
    }
}

#[async_trait]
impl SearchStore for BrokenStore {
    async fn search(&self, query: &SearchQuery) -> Result<Page<SearchHit>> {
        let mut query = query.clone();
        match self.fault {
            Fault::SearchesJson if !query.text.is_empty() && query.scope == SearchScope::User => {
                Ok(Page { items: self.in_json(&query).await?, next: None })
            }
            Fault::SearchesAllUsers if query.scope == SearchScope::User => {
                let users: std::collections::BTreeSet<_> =
                    lock(&self.owners).values().cloned().collect();
                let mut items = Vec::new();
                for user in users {
                    items.extend(
                        self.searcher().search(&SearchQuery { user, ..query.clone() }).await?.items,
                    );
                }
                Ok(Page { items, next: None })
            }
            Fault::SearchesAllBranches => {
                if let SearchScope::Branch(chat, _) = query.scope {
                    query.scope = SearchScope::Chat(chat);
                }
                self.searcher().search(&query).await
            }
            Fault::SearchSkipsBetweenPages => {
                let mut page = self.searcher().search(&query).await?;
                if page.next.is_some() && page.items.len() > 1 {
                    page.items.pop();
                }
                Ok(page)
            }
            Fault::SearchesAsSyntax if query.text.contains(['"', '*', ':']) => {
                Err(context_core::Error::invalid("search", "syntax error"))
            }
            _ => self.searcher().search(&query).await,
        }
    }
}

#[async_trait]
impl Maintenance for BrokenStore {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        self.inner_maintenance().check(cancel).await
    }

    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        if self.is(Fault::ErasingLeavesFragments) {
            for item in self.inner.history().list_chats(&ChatQuery::new(user)).await?.items {
                let fragments = self.inner.fragments().fragments(&item.chat.chat).await?;
                lock(&self.erased_fragments).insert(item.chat.chat, fragments);
            }
        }
        let silent = cancel.clone().reporting(|_, _| {});
        let cancel = if self.is(Fault::ErasesInSilence) { &silent } else { cancel };
        self.inner_maintenance().erase_user(user, cancel).await
    }

    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        self.inner_maintenance().users(limit, after).await
    }

    async fn facts(&self) -> Result<StoreFacts> {
        let mut facts = self.inner_maintenance().facts().await?;
        let messages = self.check(&CancelSignal::never()).await?.messages;
        match self.fault {
            Fault::FactsAreOfTheEpoch => facts.time = Some(Timestamp::default()),
            Fault::FactsHaveMoreUnused => (facts.bytes, facts.unused) = (Some(1), Some(2)),
            Fault::FactsNeedMessages => facts.bytes = (messages > 0).then_some(messages),
            Fault::FactsAreOfTheRoomLeft => facts.bytes = Some(u64::MAX - messages),
            Fault::FactsCreateAChat => {
                let chat = NewChat::new(ChatRef::new("ada", "facts"), Timestamp::default());
                let _ = self.inner.history().create_chat(chat).await?;
            }
            _ => {}
        }
        Ok(facts)
    }

    async fn vacuum(&self) -> Result<Vacuumed> {
        self.inner_maintenance().vacuum().await
    }

    async fn backup(&self, to: &Path) -> Result<()> {
        self.inner_maintenance().backup(to).await
    }
}
