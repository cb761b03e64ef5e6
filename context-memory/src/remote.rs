//! Memories that another process keeps, over HTTP: [`RemoteMemory`] asks, [`MemoryService`]
//! answers.
//!
//! # Protocol, version 1
//!
//! JSON in UTF-8 over HTTP/1.1 or later, below one address, with `authorization: Bearer <key>`.
//! Times are microseconds since 1970-01-01 UTC. A scope is
//! `{"user": …, "project": …, "agent": …, "session": …}`, the last three left out if nothing is
//! named, and always sent whole.
//!
//! | | asks | answers |
//! |---|---|---|
//! | `GET /v1/info` | | `{"name", "protocol": 1}` |
//! | `POST /v1/recall` | `{"scope", "text", "recent": [{"role", "text"}], "max_tokens", "at"}` | `{"scope", "memories": [{"kind", "text", "scope", "score", "id", "source", "speaker", "at"}]}` |
//! | `POST /v1/capture` | `{"scope", "turn", "at", "errored", "messages": [{"id", "message", "at", "speaker"}]}` | `{"scope"}` |
//! | `POST /v1/flush` | `{}` | `{}` |
//! | `POST /v1/forget` | `{"scope"}` and one of `"ids": […]`, `"source": {"session", "message"}`, `"all": true` | `{"scope", "removed", "remaining"}` |
//!
//! A `message` is the JSON form of [`Message`](context_core::Message), without thoughts, provider
//! blocks and bytes of media. Of the conversation, `recent` has the last texts. Where a name may be
//! left out, `null` means the same.
//!
//! **Scopes.** A server echoes the scope it answered for, and files each memory under a scope of
//! its own, which it says. A client refuses a reply for another scope, and a whole reply if one
//! memory in it is not [visible](context_core::memory::MemoryScope::sees) from where it asked: who
//! mixes up scopes once is not believed the rest.
//!
//! **Errors.** `{"error": {"kind", "message"}}` with a status of 400 or more. `kind` is the name of
//! an [`ErrorKind`](context_core::ErrorKind), such as `invalid` (400), `not_found` (404),
//! `conflict` (409), `unsupported` (422), `unavailable` (503) or `timeout` (504). `message` is for
//! operators and holds no content.
//!
//! **What a server must refuse**: a key it does not know (401); a user that the key is not for
//! (403); a body that is too long (413, at most [`MemoryService::MAX_BODY_BYTES`] are taken here);
//! fields it does not know, in scopes above all, since what they say might narrow what is meant
//! (400); a scope it cannot keep apart (422). It never takes a wider scope instead.
//!
//! **Repeating.** All of it may be sent again if the reply was lost: messages count once by their
//! ids, and what is forgotten is forgotten, though a second answer counts fewer records as removed.
//!
//! **Limits.** A reply has at most 1,000 memories, each of at most 256 KiB; a client sends a turn
//! in pieces of about a megabyte.

mod answers;
mod asks;
mod check;
mod error;
mod pieces;
mod service;
mod wire;

pub use asks::{RemoteInfo, RemoteMemory};
pub use error::RemoteError;
pub use service::{KeyFor, MemoryService, ServiceReply, ServiceRequest};
