//! The HTTP API for programs in other languages.

mod chats;
mod description;
mod events;
mod guard;
mod input;
mod memory;
mod messages;
mod metrics;
mod rate;
mod routes;
mod streams;
mod tokens;
mod trajectories;
mod turns;
mod upkeep;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use context_runtime::Store;
use tokio::net::TcpListener;
use tokio::sync::watch;

pub use self::tokens::{Tokens, TokensError};
use crate::listen::{ConnectionLimits, listen};
use crate::{Access, Operations};

/// The bounds of a [`Service`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceLimits {
    /// The largest body of a request in bytes. Default: 32 MiB, which holds the images of a turn.
    pub body: usize,
    /// The longest time that the headers of a request, or a piece of its body, may take. Default:
    /// 15 seconds.
    pub slowness: Duration,
    /// The longest time that an answer may take to begin. Default: one minute.
    pub answer: Duration,
    /// The requests that a user may make in a second; twice as many at once. Default: 1,000.
    pub requests_per_second: u32,
    /// The event streams that a user may have open. Default: 64.
    pub event_streams: usize,
    /// The connections of all users. Further ones wait. Default: 4,096.
    pub connections: usize,
    /// The longest time that open requests go on after the service was stopped. Default: 30
    /// seconds.
    pub grace: Duration,
}

impl Default for ServiceLimits {
    fn default() -> Self {
        Self {
            body: 32 * 1024 * 1024,
            slowness: Duration::from_secs(15),
            answer: Duration::from_secs(60),
            requests_per_second: 1_000,
            event_streams: 64,
            connections: 4_096,
            grace: Duration::from_secs(30),
        }
    }
}

/// The HTTP API for programs in other languages: chats, messages, turns, search, streams, memory,
/// trajectories and upkeep of a store.
///
/// It holds no state of its own, so any number of processes may serve one store. The description of
/// every path, request and answer is served at `/openapi.json`.
///
/// ```
/// use context_server::{Service, Tokens};
///
/// # async fn application() -> Result<axum::Router, Box<dyn std::error::Error>> {
/// let tokens: Tokens = std::fs::read_to_string("tokens.txt")?.parse()?;
/// let service = Service::new(context_runtime::open("postgres://db/agents").await?).tokens(tokens);
/// Ok(axum::Router::new().merge(service.router()))
/// # }
/// ```
#[derive(Clone)]
pub struct Service {
    operations: Operations,
    tokens: Option<Arc<Tokens>>,
    hosts: Option<Vec<String>>,
    limits: ServiceLimits,
    closing: watch::Sender<bool>,
}

impl Service {
    /// Creates the service over a store. Without [tokens](Self::tokens) it serves one user, that of
    /// the operations, to programs of this machine.
    pub fn new(operations: impl Into<Operations>) -> Self {
        Self {
            operations: operations.into(),
            tokens: None,
            hosts: None,
            limits: ServiceLimits::default(),
            closing: watch::Sender::new(false),
        }
    }

    /// Sets the tokens. A request needs one, as `Authorization: Bearer TOKEN`, and sees what its
    /// user has.
    #[must_use]
    pub fn tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = Some(Arc::new(tokens));
        self
    }

    /// Sets the host names, without ports, by which the service may be addressed. Default: those of
    /// this machine without tokens, and any name with tokens.
    #[must_use]
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the bounds.
    #[must_use]
    pub fn limits(mut self, limits: ServiceLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the routes, for a program's own server.
    pub fn router(&self) -> Router {
        routes::router(self)
    }

    /// Returns the OpenAPI description as JSON.
    pub fn description() -> String {
        routes::description()
    }

    /// Opens a port. Without tokens only a loopback address is accepted.
    pub async fn bind(self, address: SocketAddr) -> io::Result<BoundService> {
        if self.tokens.is_none() && !address.ip().is_loopback() {
            let text = "without tokens the service may only be opened on a loopback address";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(BoundService { service: self, listener, address })
    }

    /// Returns the rules for requests of browsers.
    fn access(&self) -> Option<Access> {
        match (&self.hosts, &self.tokens) {
            (Some(hosts), _) => Some(Access::loopback().hosts(hosts.iter().cloned())),
            (None, None) => Some(Access::loopback()),
            // A page of another site knows no token, whatever name it gives this server.
            (None, Some(_)) => None,
        }
    }
}

impl From<Arc<dyn Store>> for Operations {
    /// The chats of the user `local`.
    fn from(store: Arc<dyn Store>) -> Self {
        Self::new(store)
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service")
            .field("tokens", &self.tokens)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// A [`Service`] with a port.
#[derive(Debug)]
pub struct BoundService {
    service: Service,
    listener: TcpListener,
    address: SocketAddr,
}

impl BoundService {
    /// Returns the address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves requests until `stop` is done. Then no further connection is accepted, event streams
    /// end, and requests that are being answered are finished, within the time of
    /// [grace](ServiceLimits::grace).
    pub async fn serve(self, stop: impl Future<Output = ()> + Send) -> io::Result<()> {
        let ServiceLimits { connections, slowness, grace, .. } = self.service.limits;
        let closing = self.service.closing.clone();
        let limits = ConnectionLimits { connections, headers: slowness, grace };
        let stop = async move {
            stop.await;
            closing.send_replace(true);
        };
        listen(self.listener, self.service.router(), limits, stop).await
    }
}
