//! Handling requests on the server side.

use std::sync::Arc;

use context_core::base::limits;
use context_core::memory::{
    CapturedMessage, CapturedTurn, MemoryForget, MemoryScope, MemorySource, RecallQuery,
    RecalledMemory,
};
use context_core::{CancelSignal, Error, ErrorKind, Message};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::service::{KeyFor, MemoryService, ServiceReply, ServiceRequest};
use super::{error, review_routes, wire};

pub(super) const OPERATION: &str = "serve";

/// All paths.
const PATHS: [&str; 10] = [
    "/v1/info",
    "/v1/recall",
    "/v1/capture",
    "/v1/flush",
    "/v1/forget",
    "/v1/quarantine",
    "/v1/release",
    "/v1/quarantined",
    "/v1/used",
    "/v1/uses",
];

/// A refusal: status, kind and message.
pub(super) struct Refusal(u16, ErrorKind, String);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self(error::status(error.kind()), error.kind(), error.message().to_owned())
    }
}

pub(super) async fn answer(
    service: &MemoryService,
    request: ServiceRequest<'_>,
    cancel: &CancelSignal,
) -> ServiceReply {
    match route(service, request, cancel).await {
        Ok(body) => ServiceReply { status: 200, body },
        Err(Refusal(status, kind, message)) => {
            let failed = wire::Failed { kind: kind.as_str().to_owned(), message };
            // Two strings always serialize.
            let body = serde_json::to_vec(&wire::Failure { error: failed }).unwrap_or_default();
            ServiceReply { status, body }
        }
    }
}

async fn route(
    service: &MemoryService,
    request: ServiceRequest<'_>,
    cancel: &CancelSignal,
) -> Result<Vec<u8>, Refusal> {
    let no = |status, kind, message: &str| Refusal(status, kind, message.to_owned());
    let Some(opens) = service.opens(request.authorization) else {
        return Err(no(401, ErrorKind::Unavailable, "the key is not known here"));
    };
    if request.body.len() > MemoryService::MAX_BODY_BYTES {
        return Err(no(413, ErrorKind::Invalid, "the body is too long"));
    }
    match (request.method, request.path) {
        ("GET", "/v1/info") => {
            write(&wire::Info { name: service.name.clone(), protocol: wire::PROTOCOL })
        }
        ("POST", "/v1/recall") => recall(service, opens, read(request.body)?, cancel).await,
        ("POST", "/v1/capture") => capture(service, opens, read(request.body)?, cancel).await,
        ("POST", "/v1/flush") => {
            let wire::Flush {} = read(request.body)?;
            service.provider.flush(cancel).await?;
            write(&wire::Flush {})
        }
        ("POST", "/v1/forget") => forget(service, opens, read(request.body)?).await,
        ("POST", "/v1/quarantine") => {
            review_routes::quarantine(service, opens, read(request.body)?).await
        }
        ("POST", "/v1/release") => {
            review_routes::release(service, opens, read(request.body)?).await
        }
        ("POST", "/v1/quarantined") => {
            review_routes::quarantined(service, opens, read(request.body)?).await
        }
        ("POST", "/v1/used") => review_routes::used(service, opens, read(request.body)?).await,
        ("POST", "/v1/uses") => review_routes::uses(service, opens, read(request.body)?).await,
        (_, path) if PATHS.contains(&path) => {
            Err(no(405, ErrorKind::Unsupported, "this path does not support that method"))
        }
        _ => Err(no(404, ErrorKind::Unsupported, "there is no such path")),
    }
}

async fn recall(
    service: &MemoryService,
    opens: &KeyFor,
    body: wire::Recall,
    cancel: &CancelSignal,
) -> Result<Vec<u8>, Refusal> {
    let scope = scope(opens, body.scope)?;
    let mut query = RecallQuery::new(scope.clone(), body.text);
    query.recent = body
        .recent
        .into_iter()
        .map(|message| Arc::new(Message::text(message.role, message.text)))
        .collect();
    (query.max_tokens, query.at) = (body.max_tokens, body.at);
    query.least_trust = body.least_trust;
    let mut memories = service.provider.recall(&query, cancel).await?.memories;
    // A provider that mixes up scopes is stopped here.
    let strange =
        |memory: &RecalledMemory| memory.scope.as_ref().is_some_and(|filed| !scope.sees(filed));
    if memories.iter().any(strange) {
        let message = "the memory returned records of another scope".to_owned();
        return Err(Refusal(500, ErrorKind::Bug, message));
    }
    memories.truncate(limits::MAX_PAGE);
    let memories = memories.into_iter().map(|memory| wire::Memory::of(memory, &scope)).collect();
    write(&wire::RecallReply { scope: wire::Scope::from(&scope), memories })
}

async fn capture(
    service: &MemoryService,
    opens: &KeyFor,
    body: wire::Capture,
    cancel: &CancelSignal,
) -> Result<Vec<u8>, Refusal> {
    let scope = scope(opens, body.scope)?;
    let messages = body.messages.into_iter().map(|wire| {
        let mut captured = CapturedMessage::new(wire.id, wire.message);
        (captured.at, captured.speaker) = (wire.at, wire.speaker);
        captured
    });
    let mut turn = CapturedTurn::new(scope.clone(), body.turn, body.at, messages.collect());
    turn.errored = body.errored;
    service.provider.capture(&turn, cancel).await?;
    write(&wire::Done { scope: wire::Scope::from(&scope) })
}

async fn forget(
    service: &MemoryService,
    opens: &KeyFor,
    body: wire::Forget,
) -> Result<Vec<u8>, Refusal> {
    let scope = scope(opens, body.scope)?;
    let forget = match (body.ids, body.source, body.all) {
        (Some(ids), None, None) => MemoryForget::ids(scope.clone(), ids),
        (None, Some(wire::Source { session, message }), None) => {
            let mut source = MemorySource::session(session);
            source.message = message;
            MemoryForget::source(scope.clone(), source)
        }
        (None, None, Some(true)) => MemoryForget::Scope(scope.clone()),
        _ => {
            return Err(
                Error::invalid(OPERATION, "name the records to forget in exactly one way").into()
            );
        }
    };
    forget.check()?;
    let forgotten = service.provider.forget(&forget).await?;
    let (removed, remaining) = (forgotten.removed, forgotten.remaining);
    write(&wire::Forgotten { scope: wire::Scope::from(&scope), removed, remaining })
}

/// Returns the scope of a request if the key covers it.
pub(super) fn scope(opens: &KeyFor, wire: wire::Scope) -> Result<MemoryScope, Refusal> {
    let scope = MemoryScope::from(wire);
    scope.check(OPERATION)?;
    if opens.takes(&scope) {
        return Ok(scope);
    }
    Err(Refusal(403, ErrorKind::Unavailable, "the key is not for this user".to_owned()))
}

/// Parses a body. The error gives only the position, since serde's message may quote the body.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        let message = format!(
            "the body does not have the form of this path, at line {}, column {}",
            error.line(),
            error.column()
        );
        Error::invalid(OPERATION, message).into()
    })
}

pub(super) fn write(reply: &impl Serialize) -> Result<Vec<u8>, Refusal> {
    serde_json::to_vec(reply).map_err(|_| {
        Error::new(ErrorKind::Bug, OPERATION, "the answer cannot be written as JSON").into()
    })
}
