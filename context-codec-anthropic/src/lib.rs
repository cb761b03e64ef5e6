//! Messages in Anthropic's wire form, both directions.
//!
//! [`messages`] is the form of the Messages API: whole requests, answers and streams with
//! [`MessagesCodec`](messages::MessagesCodec), and single messages. Everything here is pure and
//! synchronous: the same request gives the same bytes. No request is sent from here.
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
