//! Messages of the context layer as those of [async-openai](https://docs.rs/async-openai), and
//! back.
//!
//! [`chat`] has the messages of Chat Completions, [`responses`] the input items of the Responses
//! API. Both work on lists: a message with two results of tools is two messages there.
//!
//! ```
//! use async_openai::types::chat::ChatCompletionRequestMessage;
//! use context_async_openai::chat;
//! use context_runtime::Message;
//!
//! let messages = [Message::from("Two tickets to Lisbon.")];
//! let theirs = chat::to_messages(&messages)?.items;
//! assert!(matches!(theirs[..], [ChatCompletionRequestMessage::User(_)]));
//! assert_eq!(chat::from_messages(&theirs)?.items, messages);
//! # Ok::<(), context_async_openai::ConvertError>(())
//! ```
//!
//! A turn or a call prepares whole request bodies, which are valid and inside the window.
//! [`chat::to_request`] and [`responses::to_request`] read them as async-openai's requests. Give
//! the answer back as JSON, as `turn.received(200, &serde_json::to_string(&response)?)`.
//!
//! These are functions and not `From`: neither the trait nor the types belong to this crate.
//!
//! # What is kept
//!
//! Messages of async-openai come back equal. Messages of the context layer come back with the same
//! content as far as the form has a place for it; [`Converted::diagnostics`] names what has none.
//! The types of async-openai have no field for what providers other than OpenAI add, such as
//! `reasoning_content`; it is left out without a diagnostic.

mod codec;
mod error;

pub mod chat;
pub mod responses;

pub use codec::Converted;
pub use error::ConvertError;
