//! Simulated providers over HTTP on loopback: well-behaved ones, and misbehaving ones.
//!
//! An [`HttpFace`] serves [simulators](crate::Simulator) at the paths of their providers, with
//! their headers, whole and as server-sent events. It also serves embeddings, whose vectors are
//! [hashed](hashed_vector) from the words. It checks a key if it is given one. A [`BadServer`]
//! misbehaves in one way, chosen by [`Misbehaviour`], on every request.
//!
//! | path | simulator of |
//! |---|---|
//! | `/v1/chat/completions` | `openai` |
//! | `/v1/responses` | `openai-responses` |
//! | `/v1/messages` | `anthropic` |
//! | `/v1beta/models/…:generateContent`, `:streamGenerateContent` | `gemini` |
//! | `/v1/embeddings` | none |
//!
//! ```text
//! let server = HttpFace::default().simulator(simulator.clone()).key("sk-test-123456").start().await?;
//! let reply = client.post(format!("{}/v1/messages", server.url())) …
//! assert_eq!(server.requests().len(), simulator.log().len());
//! ```
//!
//! Both listen on a free port of 127.0.0.1 and need a tokio runtime with IO and time. Dropping a
//! server closes its port and connections. They do not speak TLS.

mod bad_server;
mod body;
mod embeddings;
mod face;
mod port;
mod replies;

pub use bad_server::{BadServer, Misbehaviour};
pub use embeddings::hashed_vector;
pub use face::{HttpFace, HttpServer, ReceivedRequest};
