//! The side that answers, without a server: whoever has one hands in what came and sends back what
//! is answered.

use std::fmt;
use std::sync::Arc;

use context_core::memory::MemoryScope;
use context_core::{CancelSignal, MemoryProvider, UserId};

use super::answers;

/// Whose memories a key opens.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyFor {
    /// Those of all users: for a program that serves them all and keeps them apart.
    AllUsers,
    /// Those of one user.
    User(UserId),
}

/// Answers the [protocol](crate::remote) out of a provider. Without a key it answers nobody.
/// `Debug` shows no key.
///
/// It is no server: connections, TLS, limits of time and of bytes are those of whoever calls it.
/// `examples/memory_server` is one, for loopback.
pub struct MemoryService {
    pub(super) provider: Arc<dyn MemoryProvider>,
    pub(super) name: String,
    keys: Vec<(blake3::Hash, KeyFor)>,
}

/// What came. `Debug` shows neither key nor body.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ServiceRequest<'a> {
    /// The method of HTTP.
    pub method: &'a str,
    /// The path below the server's address, such as `/v1/recall`.
    pub path: &'a str,
    /// The header `authorization`.
    pub authorization: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

/// What is answered: JSON. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceReply {
    /// The status of HTTP.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl MemoryService {
    /// How long a body may be: a server refuses longer ones with 413 while it reads.
    pub const MAX_BODY_BYTES: usize = 32 << 20;

    /// Answers out of this provider, under this name.
    pub fn new(provider: Arc<dyn MemoryProvider>, name: impl Into<String>) -> Self {
        Self { provider, name: name.into(), keys: Vec::new() }
    }

    /// Takes this key for what it is for. Only its hash is kept; an empty key is nobody's.
    #[must_use]
    pub fn key(mut self, key: &str, opens: KeyFor) -> Self {
        if !key.trim().is_empty() {
            self.keys.push((blake3::hash(key.trim().as_bytes()), opens));
        }
        self
    }

    /// Answers a request. Every request is answered, whatever is in it.
    pub async fn answer(&self, request: ServiceRequest<'_>, cancel: &CancelSignal) -> ServiceReply {
        answers::answer(self, request, cancel).await
    }

    /// What a key opens. Hashes are compared in a time that says nothing of them.
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
    /// A request of this method and path.
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
