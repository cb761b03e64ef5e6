//! Model calls as data: requests, answers, errors, and the codecs between them and a provider's
//! wire form.
//!
//! [`provider`](crate::provider) returns a codec by name. Nothing here sends a request. The program
//! does, or the clients of the feature `model-http`, which implement [`LanguageModel`] and
//! [`Embedder`].

pub use context_codec_kit::classify;
pub use context_codec_kit::normalize::{HistoryRules, Normalized, normalize, normalize_request};
pub use context_core::history::{SummaryError, SummaryTask};
pub use context_core::message::MessageHash;
pub use context_core::model::Unanswered;
pub use context_core::model::{
    AnswerDelta, AnswerStream, CacheMarks, CachedContent, EmbedAs, Embedder, ImageLimits,
    LanguageModel, LiftedRequest, LoweredRequest, ModelCodec, ModelErrorCode, OutputSchema,
    ProviderCompaction, StopReason, TokenCount, TokenCounter, ToolChoice, Usage, WireError,
};
pub use context_core::{Answer, MessageCodec, ModelError, ModelRequest};
