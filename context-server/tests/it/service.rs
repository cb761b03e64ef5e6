//! The HTTP API for programs, asked without a socket.

mod actions;
mod any_request;
mod description;
mod events;
mod faces;
mod listening;
mod messages;
mod turns;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use context_runtime::Store;
use context_server::{Operations, Service, Tokens};
use serde_json::Value;
use tower::ServiceExt;

/// A service with two users and an administrator, each of whom has a token.
pub(crate) struct Api {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) router: Router,
}

/// An answer.
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answered {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// Returns the body of an answer that must be one of success.
    #[track_caller]
    pub(crate) fn ok(&self) -> Value {
        assert!(self.status.is_success(), "{}: {}", self.status, self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// Returns the detail of a problem with this status.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16) -> String {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/problem+json", "{}", self.text);
        let problem = self.json();
        assert_eq!(problem["status"], status);
        problem["detail"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn tokens() -> Tokens {
    let lines = [
        Tokens::line("ada", "ada-token", false),
        Tokens::line("bob", "bob-token", false),
        Tokens::line("root", "root-token", true),
    ];
    lines.join("\n").parse().unwrap()
}

impl Api {
    pub(crate) async fn new() -> Self {
        Self::with(|service| service).await
    }

    pub(crate) async fn with(change: impl FnOnce(Service) -> Service) -> Self {
        let store = context_runtime::open("mem:").await.unwrap();
        let service = Service::new(Operations::new(Arc::clone(&store))).tokens(tokens());
        let service = change(service);
        let router = service.router();
        Self { store, router }
    }

    /// Creates a service that changes nothing.
    pub(crate) async fn read_only() -> Self {
        let store = context_runtime::open("mem:").await.unwrap();
        let operations = Operations::new(Arc::clone(&store)).read_only(true);
        let router = Service::new(operations).tokens(tokens()).router();
        Self { store, router }
    }

    pub(crate) async fn ask(&self, request: Request<Body>) -> Answered {
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        Answered { status, headers, text: String::from_utf8_lossy(&bytes).into_owned() }
    }

    /// Asks as a user, with further headers.
    pub(crate) async fn send(
        &self,
        user: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Answered {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "api.example")
            .header("authorization", format!("Bearer {user}-token"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = match body {
            Some(body) => {
                request = request.header("content-type", "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        self.ask(request.body(body).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answered {
        self.send("ada", "GET", path, &[], None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answered {
        self.send("ada", "POST", path, &[], Some(body)).await
    }
}
