//! A call of a language model in a form that belongs to no provider: what is asked, what is
//! answered, what goes wrong, and the seam of the codecs that translate it.
//!
//! Nothing here sends anything. A codec turns a [`ModelRequest`] into a provider's body and the
//! provider's answer into an [`Answer`]; who holds the connection is the caller.

pub(crate) mod answer;
mod budget;
pub(crate) mod codec;
mod embedder;
pub(crate) mod error;
mod language;
pub(crate) mod request;
mod tokens;
mod wire_error;

pub use answer::{AnswerDelta, AnswerStream, StopReason, Usage};
pub use budget::{Budget, Pressure};
pub use codec::{LiftedRequest, LoweredRequest, ModelCodec};
pub use embedder::{EmbedAs, Embedder};
pub use error::{ImageLimits, ModelErrorCode};
pub use language::LanguageModel;
pub use request::{CacheMarks, FunctionTool, OutputSchema, Tool, ToolChoice, Unanswered};
pub use tokens::{Framing, MediaKind, RequestTokens, Share, TokenCount, TokenCounter};
pub use wire_error::WireError;
