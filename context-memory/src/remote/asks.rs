//! The client.

use async_trait::async_trait;
use context_core::memory::{CapturedTurn, MemoriesForgotten, MemoryForget, RecallQuery, Recalled};
use context_core::{CancelSignal, MemoryProvider, Result};
use context_http::{Client, ClientOptions, HttpError, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{RemoteError, check, pieces, wire};

/// How much of an answer is read.
const REPLY_BYTES: usize = 8 << 20;

/// A memory that another process keeps: a provider over the [protocol](crate::remote).
///
/// What the server answers is checked before it is used; see [`RemoteError`] for what is refused. A
/// call that fails changes nothing here, and a turn goes on without what would have been recalled.
/// It captures at once: wrap it in [`Queued`](crate::Queued), so that no turn waits for a server.
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

/// What a server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteInfo {
    /// The name.
    pub name: String,
}

impl RemoteMemory {
    /// The memory behind a client, whose address is what `/v1/recall` and the others are below.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// The memory at this address; of each answer at most 8 MiB are read. An error if the address
    /// or the options cannot be used. Connects nowhere.
    pub fn at(address: &str, options: ClientOptions) -> Result<Self> {
        let client = Client::new(address, options.max_reply_bytes(REPLY_BYTES));
        client.map(Self::new).map_err(|error| RemoteError::from(error).of("connect"))
    }

    /// Asks the server for its name. An error if it cannot be reached, does not take the key, or
    /// speaks another version of the protocol.
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

    /// All that is posted may be posted again.
    async fn post<T: DeserializeOwned>(
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
        };
        let reply = self.post("v1/recall", &body, cancel).await;
        let checked = reply.and_then(|reply| check::recalled(&query.scope, reply));
        checked.map_err(|error| error.of(OPERATION))
    }

    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()> {
        const OPERATION: &str = "capture";
        turn.scope.check(OPERATION)?;
        // If a later piece fails, the turn comes again, and what was taken counts once.
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
            // Wider than what is known here is never asked for.
            _ => {
                let kind = context_core::ErrorKind::Unsupported;
                return Err(context_core::Error::new(
                    kind,
                    OPERATION,
                    "the protocol has no word for this",
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
}
