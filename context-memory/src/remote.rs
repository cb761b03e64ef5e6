//! Memories of another process, over HTTP: [`RemoteMemory`] is the client, [`MemoryService`] the
//! server side.
//!
//! # Protocol, version 1
//!
//! JSON in UTF-8 over HTTP/1.1 or later, below one base address, with
//! `authorization: Bearer <key>`. Times are microseconds since 1970-01-01 UTC. A scope is
//! `{"user": …, "project": …, "agent": …, "session": …}`. The last three are omitted if not set. A
//! scope is always sent completely.
//!
//! | path | request | reply |
//! |---|---|---|
//! | `GET /v1/info` | | `{"name", "protocol": 1}` |
//! | `POST /v1/recall` | `{"scope", "text", "recent": [{"role", "text"}], "max_tokens", "at", "least_trust"}` | `{"scope", "memories": [{"kind", "text", "scope", "score", "id", "source", "speaker", "at", "trust"}]}` |
//! | `POST /v1/capture` | `{"scope", "turn", "at", "errored", "messages": [{"id", "message", "at", "speaker"}]}` | `{"scope"}` |
//! | `POST /v1/flush` | `{}` | `{}` |
//! | `POST /v1/forget` | `{"scope"}` and one of `"ids": […]`, `"source": {"session", "message"}`, `"all": true` | `{"scope", "removed", "remaining"}` |
//! | `POST /v1/quarantine` | `{"scope", "target", "reason", "at"}` | `{"scope"}` |
//! | `POST /v1/release` | `{"scope", "id"}` | `{"scope", "released"}` |
//! | `POST /v1/quarantined` | `{"scope"}` | `{"scope", "quarantines": [{"scope", "target", "reason", "at"}]}` |
//! | `POST /v1/used` | `{"scope", "session", "turn", "at", "memories": [{"scope", "id"}]}` | `{"scope"}` |
//! | `POST /v1/uses` | `{"scope", "id"}` | `{"scope", "uses": [{"session", "turn", "at"}]}` |
//!
//! A `trust` is `foreign`, `model`, `user` or `program`. A `target` is `{"id": …}`,
//! `{"source": {"session", "message"}}`, `{"speaker": …}` or `{"trust": …}`. The last five paths
//! are a later addition: a server without them replies 404, or 422 if its memory has no review.
//!
//! A `message` is the JSON form of [`Message`](context_core::Message), without reasoning, provider
//! blocks and media bytes. `recent` contains the last texts of the conversation. An optional name
//! may also be `null`.
//!
//! **Scopes.** A server echoes the scope it answered for, and states the scope of each memory. A
//! client refuses a reply for another scope. It refuses a whole reply if one memory in it is not
//! [visible](context_core::memory::MemoryScope::sees) from the requested scope, because a server
//! that mixes up scopes cannot be trusted with the rest.
//!
//! **Errors.** `{"error": {"kind", "message"}}` with a status of 400 or more. `kind` is the name of
//! an [`ErrorKind`](context_core::ErrorKind), such as `invalid` (400), `not_found` (404),
//! `conflict` (409), `unsupported` (422), `unavailable` (503) or `timeout` (504). `message` is for
//! operators and contains no content.
//!
//! **A server must refuse** an unknown key (401); a user that the key does not cover (403); a body
//! that is too long (413; the limit here is [`MemoryService::MAX_BODY_BYTES`]); unknown fields,
//! above all in scopes, since they might narrow the scope (400); and a scope that it cannot keep
//! apart (422). It must never use a wider scope instead.
//!
//! **Retries.** Every request may be repeated if the reply was lost. Messages are deduplicated by
//! id. Forgetting is idempotent, though a second reply counts fewer removed records.
//!
//! **Limits.** A reply has at most 1,000 memories of at most 256 KiB each. A client sends a turn in
//! pieces of about one megabyte.

mod check;
mod client;
mod error;
mod pieces;
mod review;
mod review_routes;
mod routes;
mod service;
mod wire;

pub use client::{RemoteInfo, RemoteMemory};
pub use error::RemoteError;
pub use service::{KeyFor, MemoryService, ServiceReply, ServiceRequest};
