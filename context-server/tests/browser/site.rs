//! An inspector on a port, over a store in memory.

use std::sync::Arc;

use context_runtime::{ContextEngine, Fragment, Store};
use context_server::{Operations, Server};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::driver::{Browser, Page, View};

const TOKEN: &str = "a-token-of-tests";

pub(crate) struct Site {
    pub(crate) store: Arc<dyn Store>,
    user: &'static str,
    read_only: bool,
    port: u16,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Site {
    pub(crate) async fn new() -> Self {
        Self::of(context_runtime::open("mem:").await.unwrap()).await
    }

    /// Serves the chats of the user `ada` in a store.
    pub(crate) async fn of(store: Arc<dyn Store>) -> Self {
        Self::seen_by(store, "ada", false).await
    }

    /// Serves the chats of a user in a store.
    pub(crate) async fn seen_by(
        store: Arc<dyn Store>,
        user: &'static str,
        read_only: bool,
    ) -> Self {
        let mut site = Self { store, user, read_only, port: 0, running: None };
        site.start().await;
        site
    }

    /// Serves, at the port that it had before if it had one.
    pub(crate) async fn start(&mut self) {
        let port = (self.port != 0).then_some(self.port);
        let server = Server::bind(port, TOKEN).await.unwrap();
        self.port = server.port();
        let operations = Operations::new(Arc::clone(&self.store)).user(self.user);
        let operations = operations.read_only(self.read_only);
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let stopped = async move { drop(stopped.await) };
            server.serve(operations, stopped).await.unwrap();
        });
        self.running = Some((stop, serving));
    }

    /// Ends the server, with all connections.
    pub(crate) async fn stop(&mut self) {
        if let Some((stop, serving)) = self.running.take() {
            drop(stop);
            serving.await.unwrap();
        }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Opens a page that is let in, at this address.
    pub(crate) async fn page(&self, browser: &Browser, view: View, address: &str) -> Page {
        let page = browser.page(&self.origin(), view).await;
        let mark = if address.contains('?') { '&' } else { '?' };
        page.go(&format!("{address}{mark}token={TOKEN}")).await;
        page
    }

    /// Adds messages to a chat, in one commit.
    pub(crate) async fn say<F: Into<Fragment>>(
        &self,
        chat: &str,
        messages: impl IntoIterator<Item = F>,
    ) -> ContextEngine {
        let builder = ContextEngine::builder(Arc::clone(&self.store)).user(self.user).chat(chat);
        let mut engine = builder.open().await.unwrap();
        engine.set(messages).save().await.unwrap();
        engine
    }
}

/// Returns the address of a chat.
pub(crate) fn chat(name: &str) -> String {
    format!("/chats/{}", encode(name))
}

/// Encodes a text for an address.
pub(crate) fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
