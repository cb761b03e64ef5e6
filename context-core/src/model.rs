//! Provider-neutral model calls: requests, answers, errors, and the traits of codecs and models.
//!
//! Nothing here sends anything. A codec lowers a [`ModelRequest`](crate::ModelRequest) to a
//! provider's body and lifts the provider's response to an [`Answer`](crate::Answer). The caller
//! owns the connection.

pub(crate) mod answer;
mod budget;
mod cached_content;
pub(crate) mod codec;
mod compaction;
mod embedder;
pub(crate) mod error;
mod language;
pub(crate) mod request;
mod tokens;
mod wire_error;

pub use answer::{AnswerDelta, AnswerStream, StopReason, Usage};
pub use budget::{Budget, Pressure};
pub use cached_content::CachedContent;
pub use codec::{LiftedRequest, LoweredRequest, ModelCodec};
pub use compaction::ProviderCompaction;
pub use embedder::{EmbedAs, Embedder};
pub use error::{ImageLimits, ModelErrorCode};
pub use language::LanguageModel;
pub use request::{CacheMarks, FunctionTool, OutputSchema, Tool, ToolChoice, Unanswered};
pub use tokens::{Framing, MediaKind, RequestTokens, Share, TokenCount, TokenCounter};
pub use wire_error::WireError;
