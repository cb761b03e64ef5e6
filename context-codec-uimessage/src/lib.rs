//! Messages in the AI SDK's UIMessage form, both directions.
//!
//! [`ui`] is the form in which the AI SDK keeps and shows a conversation (versions 5 and 6; what
//! version 4 wrote is read too). Everything here is pure and synchronous: the same messages give
//! the same bytes. It is no provider's form: nothing is sent to a model from here, and no
//! conversation is repaired.
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
