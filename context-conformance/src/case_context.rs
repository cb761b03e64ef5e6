//! The context of a case: the subject, its own namespaces, and a first chat.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use context_core::Store;
use context_core::store::StoreInfo;
use tokio::sync::OnceCell;

use crate::chat_fixture::ChatFixture;
use crate::settings::CaseSettings;
use crate::store_fixture::StoreFixture;
use crate::verdict::{Check, Stop};

pub(crate) struct CaseContext {
    subject: Arc<dyn StoreFixture>,
    pub(crate) settings: CaseSettings,
    /// The prefix of every namespace, so that no two cases share one.
    prefix: String,
    /// Whether this test program can run itself as a child process.
    pub(crate) children: bool,
    fixtures: AtomicU32,
    lives: OnceCell<ChatFixture>,
}

impl CaseContext {
    pub(crate) fn new(
        subject: Arc<dyn StoreFixture>,
        settings: CaseSettings,
        prefix: String,
        children: bool,
    ) -> Self {
        Self {
            subject,
            settings,
            prefix,
            children,
            fixtures: AtomicU32::new(0),
            lives: OnceCell::new(),
        }
    }

    pub(crate) fn subject(&self) -> &dyn StoreFixture {
        &*self.subject
    }

    /// Returns the full name of a namespace of this case.
    pub(crate) fn namespace(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    pub(crate) async fn open(&self, name: &str) -> Check<Arc<dyn Store>> {
        Ok(self.subject.open(&self.namespace(name)).await?)
    }

    /// Reopens the store, without anything that was in memory.
    pub(crate) async fn reopen(&self, name: &str) -> Check<Arc<dyn Store>> {
        let store = self.subject.reopen(&self.namespace(name)).await?;
        store.ok_or_else(|| Stop::Fail("claims durability, but cannot be reopened".to_owned()))
    }

    pub(crate) async fn second_handle(&self, name: &str) -> Check<Arc<dyn Store>> {
        let store = self.subject.second_handle(&self.namespace(name)).await?;
        store.ok_or_else(|| Stop::Skip("offers no second handle".to_owned()))
    }

    /// Returns the location at which another process opens a store.
    pub(crate) fn location(&self, name: &str) -> Check<String> {
        let location = self.subject.location(&self.namespace(name));
        location.ok_or_else(|| Stop::Skip("is nowhere that another process finds".to_owned()))
    }

    /// Returns a fresh store with one empty chat.
    pub(crate) async fn fixture(&self) -> Check<ChatFixture> {
        let n = self.fixtures.fetch_add(1, Ordering::Relaxed);
        self.fixture_in(&format!("desk-{n}")).await
    }

    /// Returns a fresh store of this name with one empty chat.
    pub(crate) async fn fixture_in(&self, name: &str) -> Check<ChatFixture> {
        let fixture = ChatFixture::new(self.open(name).await?, "ada", "chat");
        fixture.create().await?;
        Ok(fixture)
    }

    /// Returns a chat that does not exist yet, for random operations. All such chats of a case
    /// share one store, since creating a store on a server is expensive. Each chat has its own
    /// user.
    pub(crate) async fn life(&self) -> Check<ChatFixture> {
        let fixture = self.lives.get_or_try_init(|| self.fixture_in("lives")).await?;
        let n = self.fixtures.fetch_add(1, Ordering::Relaxed);
        Ok(fixture.other(&format!("user-{n}"), "life"))
    }

    pub(crate) async fn info(&self) -> Check<StoreInfo> {
        Ok(self.open("info").await?.info())
    }
}
