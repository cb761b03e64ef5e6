//! An inspector over a store in memory, asked without a socket.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use context_runtime::{ContextEngine, Fragment, Store};
use context_server::{Operations, router};
use tower::ServiceExt;

pub(crate) struct Site {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) router: Router,
}

impl Site {
    pub(crate) async fn new() -> Self {
        let store = context_runtime::open("mem:").await.unwrap();
        let router = router(Operations::new(Arc::clone(&store)).user("ada"));
        Self { store, router }
    }

    /// Adds messages to a chat, in one commit.
    pub(crate) async fn say<F: Into<Fragment>>(
        &self,
        chat: &str,
        messages: impl IntoIterator<Item = F>,
    ) -> ContextEngine {
        let builder = ContextEngine::builder(Arc::clone(&self.store)).user("ada").chat(chat);
        let mut engine = builder.open().await.unwrap();
        engine.set(messages).save().await.unwrap();
        engine
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, String) {
        self.ask(Request::get(path).header("host", "localhost:1").body(Body::empty()).unwrap())
            .await
    }

    /// Returns the body of a page that must be there.
    pub(crate) async fn page(&self, path: &str) -> String {
        let (status, body) = self.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        body
    }

    pub(crate) async fn post(&self, path: &str, body: serde_json::Value) -> (StatusCode, String) {
        let request = Request::post(path)
            .header("host", "localhost:1")
            .header("content-type", "application/json")
            .body(Body::from(body.to_string()))
            .unwrap();
        self.ask(request).await
    }

    pub(crate) async fn ask(&self, request: Request<Body>) -> (StatusCode, String) {
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let status = answer.status();
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Encodes a text for an address.
pub(crate) fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
