//! A call of a language model in a form that belongs to no provider: what is asked, what is
//! answered, what goes wrong, and the seam of the codecs that translate it.
//!
//! Nothing here sends anything. A codec turns a [`ModelRequest`] into a provider's body and the
//! provider's answer into an [`Answer`]; who holds the connection is the caller.

mod answer;
mod codec;
mod embedder;
mod error;
mod language;
mod request;

pub use answer::{Answer, AnswerDelta, AnswerStream, StopReason, Usage};
pub use codec::{LiftedRequest, LoweredRequest, MessageCodec, ModelCodec};
pub use embedder::{EmbedAs, Embedder};
pub use error::{ImageLimits, ModelError, ModelErrorCode};
pub use language::LanguageModel;
pub use request::{
    CacheMarks, FunctionTool, ModelRequest, NormalizedTools, OutputSchema, Tool, ToolChoice,
};
