//! The context of a case: the subject, its own namespaces, and a first chat.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use context_core::Store;
use context_core::store::StoreInfo;
use tokio::sync::OnceCell;

use crate::checked::{Checked, Stop};
use crate::desk::Desk;
use crate::settings::Settings;
use crate::subject::Subject;

pub(crate) struct Lab {
    subject: Arc<dyn Subject>,
    pub(crate) settings: Settings,
    /// The prefix of every namespace, so that no two cases share one.
    prefix: String,
    /// Whether this test program can run itself as a child process.
    pub(crate) children: bool,
    desks: AtomicU32,
    lives: OnceCell<Desk>,
}

impl Lab {
    pub(crate) fn new(
        subject: Arc<dyn Subject>,
        settings: Settings,
        prefix: String,
        children: bool,
    ) -> Self {
        Self {
            subject,
            settings,
            prefix,
            children,
            desks: AtomicU32::new(0),
            lives: OnceCell::new(),
        }
    }

    pub(crate) fn subject(&self) -> &dyn Subject {
        &*self.subject
    }

    /// Returns the full name of a namespace of this case.
    pub(crate) fn namespace(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    pub(crate) async fn open(&self, name: &str) -> Checked<Arc<dyn Store>> {
        Ok(self.subject.open(&self.namespace(name)).await?)
    }

    /// Reopens the store, without anything that was in memory.
    pub(crate) async fn reopen(&self, name: &str) -> Checked<Arc<dyn Store>> {
        let store = self.subject.reopen(&self.namespace(name)).await?;
        store.ok_or_else(|| Stop::Fail("claims durability, but cannot be reopened".to_owned()))
    }

    pub(crate) async fn second_handle(&self, name: &str) -> Checked<Arc<dyn Store>> {
        let store = self.subject.second_handle(&self.namespace(name)).await?;
        store.ok_or_else(|| Stop::Skip("offers no second handle".to_owned()))
    }

    /// Returns the location at which another process opens a store.
    pub(crate) fn location(&self, name: &str) -> Checked<String> {
        let location = self.subject.location(&self.namespace(name));
        location.ok_or_else(|| Stop::Skip("is nowhere that another process finds".to_owned()))
    }

    /// Returns a fresh store with one empty chat.
    pub(crate) async fn desk(&self) -> Checked<Desk> {
        let n = self.desks.fetch_add(1, Ordering::Relaxed);
        self.desk_in(&format!("desk-{n}")).await
    }

    /// Returns a fresh store of this name with one empty chat.
    pub(crate) async fn desk_in(&self, name: &str) -> Checked<Desk> {
        let desk = Desk::new(self.open(name).await?, "ada", "chat");
        desk.create().await?;
        Ok(desk)
    }

    /// Returns a chat that does not exist yet, for random operations. All such chats of a case
    /// share one store, since creating a store on a server is expensive. Each chat has its own
    /// user.
    pub(crate) async fn life(&self) -> Checked<Desk> {
        let desk = self.lives.get_or_try_init(|| self.desk_in("lives")).await?;
        let n = self.desks.fetch_add(1, Ordering::Relaxed);
        Ok(desk.other(&format!("user-{n}"), "life"))
    }

    pub(crate) async fn info(&self) -> Checked<StoreInfo> {
        Ok(self.open("info").await?.info())
    }
}
