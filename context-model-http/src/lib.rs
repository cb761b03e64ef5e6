//! Language models and embedders over HTTP: OpenAI-compatible endpoints, local servers among them,
//! Anthropic's and Gemini's.
//!
//! An [`Endpoint`] holds the address of a service and the credentials for it. An [`HttpModel`] is a
//! [`LanguageModel`](context_core::model::LanguageModel) at an endpoint, an [`HttpEmbedder`] an
//! [`Embedder`](context_core::model::Embedder). The codecs define the bodies on the wire,
//! [`context_http`] sends them.
//!
//! | | path | service |
//! |---|---|---|
//! | [`HttpModel::chat`] | `chat/completions` | OpenAI, OpenRouter, vLLM, llama.cpp, Ollama and others |
//! | [`HttpModel::responses`] | `responses` | OpenAI |
//! | [`HttpModel::messages`] | `messages` | Anthropic |
//! | [`HttpModel::generate_content`] | `models/NAME:generateContent` | Gemini |
//! | [`HttpEmbedder::new`] | `embeddings` | those of the first row |
//!
//! ```
//! use context_core::{CancelSignal, Message, ModelRequest};
//! use context_core::model::LanguageModel;
//! use context_model_http::{Endpoint, HttpModel};
//!
//! # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
//! // The name chooses the wire form, the environment the key: here `ANTHROPIC_API_KEY`.
//! let model = HttpModel::from_env("claude-sonnet-4-5")?;
//! let request = ModelRequest::new([Message::from("Two tickets to Lisbon, please.")]);
//! let answer = model.complete(&request, &CancelSignal::never()).await?;
//!
//! // The same while it comes.
//! let mut show = |delta| println!("{delta:?}");
//! let answer = model.stream(&request, &CancelSignal::never(), &mut show).await?;
//! # Ok(())
//! # }
//! // A local server needs no key.
//! let local = HttpModel::chat("llama3.2", Endpoint::at("http://localhost:11434/v1"))?;
//! assert_eq!(local.name(), "llama3.2");
//! # Ok::<_, context_model_http::SetupError>(())
//! ```
//!
//! # What is retried
//!
//! A request is sent again if the service was not reached, was busy, failed or did not answer: at
//! most [as often as configured](context_http::Retries), and never once a piece of an answer was
//! handed out. An agent loop with a retry policy of its own, such as a `ModelCall` of the facade,
//! sets [`Retries::none`](context_http::Retries::none); then it sees every refusal.
//! A model of [`HttpModel::from_env`] is made for such a loop and sends each request once, unless
//! [`HttpModel::retries`] says otherwise. The wait that a service asks for is read from its
//! headers; Gemini often states it in the body only, which a loop of its own reads from the
//! [error](context_core::ModelError::retry_after).
//!
//! # What it does not do
//!
//! It keeps no conversation, counts no tokens and chooses no model. It reads no configuration but
//! the variables that [`Endpoint`] names. Keys are never shown, not even where a service repeats
//! them.

mod embedder;
mod endpoint;
mod environment;
mod fault;
mod model;
mod stream;
mod vectors;

pub use context_http::{ClientOptions, HttpError, Proxy, Retries, Secret};
pub use embedder::{HttpEmbedder, VectorForm};
pub use endpoint::{Endpoint, SetupError};
pub use model::HttpModel;
