//! A codec for the wire form of Anthropic's Messages API.
//!
//! [`messages`] holds [`MessagesCodec`](messages::MessagesCodec), which translates whole requests,
//! answers and streams, and functions for single messages. To *lower* is to translate a
//! [`ModelRequest`](context_core::ModelRequest) into the body that the provider takes; to *lift* is
//! the reverse, from the provider's body to a `ModelRequest`. Everything here is pure and
//! synchronous: the same request gives the same bytes, and no request is sent.
//!
//! ```
//! use context_codec_anthropic::messages;
//! use context_core::Json;
//!
//! let written = Json::from_text(
//!     r#"{"role": "assistant", "id": "msg_1", "content": [{"type": "text", "text": "Window or aisle?"}]}"#,
//! )?;
//! let lifted = messages::lift(&written)?;
//! assert_eq!(lifted.message.plain_text(), "Window or aisle?");
//!
//! // For sending: what the provider takes, and no more.
//! let sent = messages::lower(&lifted.message).messages;
//! assert_eq!(
//!     sent[0].as_str(),
//!     r#"{"role":"assistant","content":[{"type":"text","text":"Window or aisle?"}]}"#
//! );
//! // Back to where it came from: everything.
//! let back = messages::lower_source(&lifted.message).messages;
//! assert_eq!(back[0].parse::<serde_json::Value>()?, written.parse::<serde_json::Value>()?);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

pub mod messages;
