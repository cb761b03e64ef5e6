//! An HTTP client for JSON and server-sent events, for crates of the context layer that call
//! services.
//!
//! A [`Client`] is built from the address of a service and [`ClientOptions`]. It sends a
//! [`Request`] and returns either the whole [`HttpReply`] or the [`Incoming`] reply while it arrives,
//! as bytes or as [`Events`].
//!
//! # What it guarantees
//!
//! * **Bounded.** Every wait has a timeout and every reply a size limit; nothing is buffered past
//!   the limit. Compression is not asked for. A reply that is compressed all the same is refused,
//!   because its size says nothing about the size of its content.
//! * **Retries.** A request that is refused for now is sent again ([`Retries`]), after the wait
//!   that the service asks for, and only where sending it twice does no harm.
//! * **Discreet.** A [`Secret`] is never shown, and neither are queries, headers and bodies. The
//!   text of a service's error is [redacted](Client::redact) before it is returned. Redirects are
//!   not followed, and plain HTTP goes to this machine only, unless it is
//!   [allowed](ClientOptions::allow_plain_http).
//! * **Cancelled at once.** Every wait ends when the [signal](context_core::CancelSignal) is
//!   raised.
//!
//! The client reads no clock but that of tokio's timers, and needs a tokio runtime with IO and
//! time. It knows no provider: the caller says which path takes which body.
//!
//! ```
//! use context_core::CancelSignal;
//! use context_http::{Client, ClientOptions, HttpError, Request, Secret};
//!
//! # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
//! let options = ClientOptions::default().bearer(Secret::new("sk-demo-123456"));
//! let client = Client::new("https://api.example.com/v1", options)?;
//!
//! let request = Request::post("search").json(&serde_json::json!({"query": "tickets"}))?.repeatable(true);
//! let reply: serde_json::Value = client.send(&request, &CancelSignal::never()).await?.json()?;
//! # Ok(())
//! # }
//! // Keys do not travel where everybody reads them.
//! let refused = Client::new("http://api.example.com/v1", ClientOptions::default());
//! assert!(matches!(refused, Err(HttpError::PlainHttp { .. })));
//! ```

mod address;
mod client;
mod deadline;
mod error;
mod events;
mod incoming;
mod options;
mod pauses;
mod proxy;
mod redact;
mod request;
mod retries;
mod retry_after;
mod secret;

pub use client::Client;
pub use error::{HttpError, Phase, Refused, TooLong};
pub use events::{Event, EventParser};
pub use incoming::{Events, HttpReply, Incoming};
pub use options::ClientOptions;
pub use pauses::Pauses;
pub use proxy::Proxy;
pub use request::{Method, Request};
pub use retries::Retries;
pub use secret::Secret;
