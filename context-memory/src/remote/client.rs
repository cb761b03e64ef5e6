//! The client.

use async_trait::async_trait;
use context_core::memory::{
    CapturedTurn, MemoriesForgotten, MemoryForget, MemoryReview, RecallQuery, Recalled,
};
use context_core::{CancelSignal, MemoryProvider, Result};
use context_http::{Client, ClientOptions, HttpError, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{RemoteError, check, pieces, wire};

/// The largest reply that is read, in bytes.
const REPLY_BYTES: usize = 8 << 20;

/// A provider for memories of another process, over the [protocol](crate::remote).
///
/// Replies are validated before use; [`RemoteError`] lists the reasons for refusing one. A failed
/// call changes nothing here, and a turn continues without recalled memories. Captures are sent
/// synchronously: wrap the provider in [`Queued`](crate::Queued), so that no turn waits for the
/// server.
///
/// ```no_run
/// use context_http::{ClientOptions, Secret};
/// use context_memory::{Queued, remote::RemoteMemory};
///
/// # fn main() -> context_core::Result<()> {
/// let options = ClientOptions::default().bearer(Secret::new("key-of-this-agent"));
/// let memory = Queued::new(RemoteMemory::at("https://memory.example.com", options)?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RemoteMemory {
    client: Client,
}

/// Information about a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteInfo {
    /// The name.
    pub name: String,
}

impl RemoteMemory {
    /// Creates a provider on a client whose base address is the parent of `/v1/recall` and the
    /// other paths.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Creates a provider for a base address. At most 8 MiB of each reply are read. Fails if the
    /// address or the options are invalid. Does not connect.
    pub fn at(address: &str, options: ClientOptions) -> Result<Self> {
        let client = Client::new(address, options.max_reply_bytes(REPLY_BYTES));
        client.map(Self::new).map_err(|error| RemoteError::from(error).of("connect"))
    }

    /// Requests the server's name. Fails if the server cannot be reached, refuses the key, or uses
    /// another protocol version.
    pub async fn info(&self, cancel: &CancelSignal) -> Result<RemoteInfo> {
        let info = self.send::<wire::Info>(&Request::get("v1/info"), cancel).await;
        let checked = info.and_then(|info| match info.protocol {
            wire::PROTOCOL => Ok(RemoteInfo { name: info.name }),
            version => Err(RemoteError::OtherProtocol { version }),
        });
        checked.map_err(|error| error.of("info"))
    }

    async fn send<T: DeserializeOwned>(
        &self,
        request: &Request,
        cancel: &CancelSignal,
    ) -> Result<T, RemoteError> {
        if cancel.is_cancelled() {
            return Err(HttpError::Cancelled.into());
        }
        Ok(self.client.send(request, cancel).await?.json()?)
    }

    /// Sends a POST request. All of them may be repeated.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        cancel: &CancelSignal,
    ) -> Result<T, RemoteError> {
        let request = Request::post(path).json(body)?.repeatable(true);
        self.send(&request, cancel).await
    }
}

#[async_trait]
impl MemoryProvider for RemoteMemory {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        const OPERATION: &str = "recall";
        query.scope.check(OPERATION)?;
        let body = wire::Recall {
            scope: wire::Scope::from(&query.scope),
            text: query.text.clone(),
            recent: pieces::recent(&query.recent),
            max_tokens: query.max_tokens,
            at: query.at,
            least_trust: query.least_trust,
        };
        let reply = self.post("v1/recall", &body, cancel).await;
        let checked = reply.and_then(|reply| check::recalled(&query.scope, reply));
        checked.map_err(|error| error.of(OPERATION))
    }

    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()> {
        const OPERATION: &str = "capture";
        turn.scope.check(OPERATION)?;
        // If a later piece fails, the turn is captured again; messages that were accepted count
        // once.
        for piece in pieces::of_turn(turn) {
            let reply = self.post::<wire::Done>("v1/capture", &piece, cancel).await;
            let checked = reply.and_then(|reply| check::same_scope(&turn.scope, reply.scope));
            checked.map_err(|error| error.of(OPERATION))?;
        }
        Ok(())
    }

    async fn flush(&self, cancel: &CancelSignal) -> Result<()> {
        let reply = self.post::<serde::de::IgnoredAny>("v1/flush", &wire::Flush {}, cancel).await;
        reply.map(|_| ()).map_err(|error| error.of("flush"))
    }

    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        const OPERATION: &str = "forget";
        forget.check()?;
        let scope = forget.scope();
        let mut body =
            wire::Forget { scope: wire::Scope::from(scope), ids: None, source: None, all: None };
        match forget {
            MemoryForget::Ids { ids, .. } => body.ids = Some(ids.clone()),
            MemoryForget::Source { source, .. } => {
                let (session, message) = (source.session.clone(), source.message.clone());
                body.source = Some(wire::Source { session, message });
            }
            MemoryForget::Scope(_) => body.all = Some(true),
            // A wider forget than requested is never sent.
            _ => {
                let kind = context_core::ErrorKind::Unsupported;
                return Err(context_core::Error::new(
                    kind,
                    OPERATION,
                    "the protocol does not support this",
                ));
            }
        }
        let reply = self.post::<wire::Forgotten>("v1/forget", &body, &CancelSignal::never()).await;
        let checked = reply.and_then(|reply| {
            check::same_scope(scope, reply.scope)?;
            Ok(MemoriesForgotten::new(reply.removed, reply.remaining))
        });
        checked.map_err(|error| error.of(OPERATION))
    }

    /// A server of an older program refuses the calls of a review.
    fn review(&self) -> Option<&dyn MemoryReview> {
        Some(self)
    }
}
