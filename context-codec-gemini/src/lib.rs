//! Codecs for Gemini's wire forms: `generateContent` and the answers of the Interactions API.
//!
//! [`generate`] is the form of `generateContent`: whole request bodies, single contents, answers
//! and streams of answers. [`interactions`] reads the answers of the Interactions API. To *lower*
//! is to translate a [`ModelRequest`](context_core::ModelRequest) into the body that the provider
//! takes; to *lift* is the reverse, from the provider's body to a `ModelRequest`. Everything here
//! is pure and synchronous: the same request gives the same bytes, and no request is sent.
//!
//! ```
//! use context_codec_gemini::generate::GenerateCodec;
//! use context_core::{Message, MessageCodec, ModelRequest, Role};
//!
//! let request = ModelRequest::new([
//!     Message::from("Two tickets to Lisbon, please."),
//!     Message::text(Role::Assistant, "Window or aisle?"),
//!     Message::from("Aisle."),
//! ])
//! .system("You book trips.");
//! let sent = GenerateCodec.lower(&request)?;
//! assert_eq!(
//!     sent.body.as_str(),
//!     concat!(
//!         r#"{"systemInstruction":{"parts":[{"text":"You book trips."}]},"contents":["#,
//!         r#"{"role":"user","parts":[{"text":"Two tickets to Lisbon, please."}]},"#,
//!         r#"{"role":"model","parts":[{"text":"Window or aisle?"}]},"#,
//!         r#"{"role":"user","parts":[{"text":"Aisle."}]}]}"#,
//!     )
//! );
//! // And back.
//! assert_eq!(GenerateCodec.lift(&sent.body)?.request, request);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod continued;
pub mod generate;
pub mod interactions;
