//! The server side without a network server: the host passes requests in and sends the replies.

use std::fmt;
use std::sync::Arc;

use context_core::memory::MemoryScope;
use context_core::{CancelSignal, MemoryProvider, UserId};

use super::routes;

/// The users that a key covers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyFor {
    /// All users, for an application that serves them all and keeps them apart.
    AllUsers,
    /// One user.
    User(UserId),
}

/// Implements the server side of the [protocol](crate::remote) on a provider. Without keys every
/// request is refused. `Debug` shows no key.
///
/// Connections, TLS, timeouts and body limits are the host's responsibility.
/// `examples/memory_server` is a host for loopback.
pub struct MemoryService {
    pub(super) provider: Arc<dyn MemoryProvider>,
    pub(super) name: String,
    keys: Vec<(blake3::Hash, KeyFor)>,
}

/// A request. `Debug` shows neither key nor body.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ServiceRequest<'a> {
    /// The HTTP method.
    pub method: &'a str,
    /// The path below the server's base address, such as `/v1/recall`.
    pub path: &'a str,
    /// The `authorization` header.
    pub authorization: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

/// A JSON reply. `Debug` does not show the body.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceReply {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl MemoryService {
    /// The largest body in bytes. A host refuses longer bodies with 413 while reading.
    pub const MAX_BODY_BYTES: usize = 32 << 20;

    /// Creates a service on a provider, with a server name.
    pub fn new(provider: Arc<dyn MemoryProvider>, name: impl Into<String>) -> Self {
        Self { provider, name: name.into(), keys: Vec::new() }
    }

    /// Accepts a key for the given users. Only a hash of the key is kept. An empty key is ignored.
    #[must_use]
    pub fn key(mut self, key: &str, opens: KeyFor) -> Self {
        if !key.trim().is_empty() {
            self.keys.push((blake3::hash(key.trim().as_bytes()), opens));
        }
        self
    }

    /// Answers a request. Every request gets a reply, whatever it contains.
    pub async fn answer(&self, request: ServiceRequest<'_>, cancel: &CancelSignal) -> ServiceReply {
        routes::answer(self, request, cancel).await
    }

    /// Returns the users that a key covers. Each hash comparison takes constant time.
    pub(super) fn opens(&self, authorization: Option<&str>) -> Option<&KeyFor> {
        let (scheme, key) = authorization?.split_once(' ')?;
        let key = blake3::hash(key.trim().as_bytes());
        let known = self.keys.iter().find(|(known, _)| *known == key);
        known.filter(|_| scheme.eq_ignore_ascii_case("bearer")).map(|(_, opens)| opens)
    }
}

impl KeyFor {
    pub(super) fn takes(&self, scope: &MemoryScope) -> bool {
        match self {
            Self::AllUsers => true,
            Self::User(user) => *user == scope.user,
        }
    }
}

impl<'a> ServiceRequest<'a> {
    /// Creates a request.
    pub fn new(
        method: &'a str,
        path: &'a str,
        authorization: Option<&'a str>,
        body: &'a [u8],
    ) -> Self {
        Self { method, path, authorization, body }
    }
}

impl fmt::Debug for MemoryService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("MemoryService");
        shown
            .field("name", &self.name)
            .field("provider", &self.provider)
            .field("keys", &self.keys.len())
            .finish()
    }
}

impl fmt::Debug for ServiceRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ServiceRequest");
        shown
            .field("method", &self.method)
            .field("path", &self.path)
            .field("bytes", &self.body.len());
        shown.finish_non_exhaustive()
    }
}

impl fmt::Debug for ServiceReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ServiceReply");
        shown.field("status", &self.status).field("bytes", &self.body.len()).finish()
    }
}
