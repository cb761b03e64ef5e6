//! The checks of every request: its host, its token, and the rate of its user.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use context_runtime::UserId;
use moka::sync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::input::refusal;
use super::metrics::Metrics;
use super::rate::RateLimit;
use super::{Service, Tokens};
use crate::{Access, Operations};

/// The number of users whose event streams are counted.
const USERS: u64 = 100_000;

/// The state of the checks.
#[derive(Clone)]
pub(super) struct Guard {
    operations: Operations,
    tokens: Option<Arc<Tokens>>,
    access: Option<Access>,
    rate: RateLimit,
    event_streams: usize,
    streams: Cache<UserId, Arc<Semaphore>>,
    /// Held, so that routes go on after the service that made them is dropped.
    closing: watch::Sender<bool>,
    pub(super) metrics: Metrics,
}

/// The caller of a request.
#[derive(Clone)]
pub(super) struct Caller {
    /// The operations of its user.
    pub(super) operations: Operations,
    /// Whether it may look after the store.
    pub(super) is_admin: bool,
    streams: Arc<Semaphore>,
    closing: watch::Receiver<bool>,
}

impl Caller {
    /// Takes one of the event streams of the user. `None` if all are open.
    pub(super) fn event_stream(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }

    /// Resolves when the service is being stopped.
    pub(super) fn closing(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut closing = self.closing.clone();
        async move {
            // A service that is gone is stopped, too.
            let _ = closing.wait_for(|closing| *closing).await;
        }
    }
}

impl Guard {
    pub(super) fn new(service: &Service) -> Self {
        Self {
            operations: service.operations.clone(),
            tokens: service.tokens.clone(),
            access: service.access(),
            rate: RateLimit::new(service.limits.requests_per_second),
            event_streams: service.limits.event_streams,
            streams: Cache::new(USERS),
            closing: service.closing.clone(),
            metrics: Metrics::new(),
        }
    }

    /// Returns the caller of a request, or the answer that refuses it.
    fn admit(&self, request: &Request) -> Result<Caller, Box<Response>> {
        let refuse = |status, text: &str| Box::new(refusal(status, text.to_owned()));
        if let Some(access) = &self.access
            && let Some(reason) = access.refusal(request.method(), request.headers())
        {
            return Err(refuse(StatusCode::FORBIDDEN, reason));
        }
        let (operations, is_admin) = match &self.tokens {
            None => (self.operations.clone(), true),
            Some(tokens) => {
                let token = bearer(request.headers());
                let Some(caller) = token.and_then(|token| tokens.caller(token)) else {
                    let text = "the request needs a token: `Authorization: Bearer TOKEN`";
                    let mut refused = refuse(StatusCode::UNAUTHORIZED, text);
                    let scheme = HeaderValue::from_static("Bearer");
                    refused.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
                    return Err(refused);
                };
                (self.operations.clone().user(caller.user.clone()), caller.is_admin)
            }
        };
        if let Err(wait) = self.rate.take(operations.owner(), Instant::now()) {
            return Err(Box::new(too_many("too many requests", wait)));
        }
        let new = || Arc::new(Semaphore::new(self.event_streams));
        let streams = self.streams.get_with_by_ref(operations.owner(), new);
        Ok(Caller { operations, is_admin, streams, closing: self.closing.subscribe() })
    }
}

/// Returns the answer to a request that comes too early.
pub(super) fn too_many(text: &str, wait: Duration) -> Response {
    let mut refused = refusal(StatusCode::TOO_MANY_REQUESTS, text.to_owned());
    let seconds = wait.as_secs_f64().ceil().max(1.0);
    if let Ok(value) = HeaderValue::from_str(&format!("{seconds:.0}")) {
        refused.headers_mut().insert(header::RETRY_AFTER, value);
    }
    refused
}

/// Returns the token of a request that has exactly one.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, more) = (values.next()?, values.next());
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    (more.is_none() && scheme.eq_ignore_ascii_case("bearer")).then_some(token)
}

/// Checks a request, and hands its caller on.
pub(super) async fn guard(
    State(guard): State<Guard>,
    mut request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let path = request.extensions().get::<MatchedPath>().cloned();
    let mut response = match guard.admit(&request) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refused) => *refused,
    };
    let path = path.as_ref().map_or("other", MatchedPath::as_str);
    guard.metrics.answered(&method, path, response.status(), begun.elapsed());
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}
