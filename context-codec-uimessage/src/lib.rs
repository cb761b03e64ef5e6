//! A codec for the AI SDK's UIMessage form.
//!
//! [`ui`] is the form in which the AI SDK stores and shows a conversation. Versions 5 and 6 are
//! read and written; messages that version 4 wrote are read too. To *lower* is to translate a
//! [`ModelRequest`](context_core::ModelRequest) into the body, a list of UI messages; to *lift* is
//! the reverse, from the body to a `ModelRequest`. Everything here is pure and synchronous: the
//! same messages give the same bytes. UIMessage is not the form of a model provider: nothing is
//! sent to a model, and no conversation is repaired.
//!
//! ```
//! use context_codec_uimessage::UiMessageCodec;
//! use context_core::{Json, MessageCodec, Role};
//!
//! let body = Json::from_text(r#"[{"id": "m1", "role": "assistant", "parts": [
//!     {"type": "step-start"},
//!     {"type": "tool-weather", "toolCallId": "c1", "state": "output-available", "input": {"city": "Lisbon"}, "output": 21},
//!     {"type": "step-start"},
//!     {"type": "text", "text": "21 degrees.", "state": "done"}
//! ]}]"#)?;
//! let request = UiMessageCodec.lift(&body)?.request;
//! let roles: Vec<_> = request.messages.iter().map(|message| message.role).collect();
//! assert_eq!(roles, [Role::Assistant, Role::Tool, Role::Assistant]);
//!
//! let back = UiMessageCodec.lower_source(&request).body;
//! assert_eq!(back.parse::<serde_json::Value>()?, body.parse::<serde_json::Value>()?);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

pub mod ui;

pub use ui::UiMessageCodec;
