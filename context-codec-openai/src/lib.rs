//! Codecs for OpenAI's wire forms: Chat Completions and the Responses API.
//!
//! [`chat`] is the form of Chat Completions, [`responses`] that of the Responses API. To *lower* is
//! to translate a [`ModelRequest`](context_core::ModelRequest) into the body that the provider
//! takes; to *lift* is the reverse, from the provider's body to a `ModelRequest`.
//!
//! The codecs lower and lift whole requests, and lift answers. They repair a conversation before
//! they lower it. The functions for single messages translate a message as it is. Everything here
//! is pure and synchronous: the same request gives the same bytes, and nothing is sent.
//!
//! ```
//! use context_codec_openai::chat;
//! use context_core::Json;
//!
//! let written = Json::from_text(r#"{"role": "user", "content": "Two tickets to Lisbon.", "seen": true}"#)?;
//! let lifted = chat::lift(&written)?;
//! assert_eq!(lifted.message.plain_text(), "Two tickets to Lisbon.");
//!
//! // For sending: what the provider knows, and no more.
//! let sent = chat::lower(&lifted.message).messages;
//! assert_eq!(sent[0].as_str(), r#"{"role":"user","content":"Two tickets to Lisbon."}"#);
//! // Back to where it came from: everything.
//! let back = chat::lower_source(&lifted.message).messages;
//! assert_eq!(back[0].parse::<serde_json::Value>()?, written.parse::<serde_json::Value>()?);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

pub mod chat;
pub mod responses;

mod body;
mod prompt_cache;
mod shared;
