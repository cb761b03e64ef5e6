//! Calls of models as data: requests, answers, errors, and the codecs between them and a provider's
//! wire form.
//!
//! [`provider`](crate::provider) gives a codec by name. Nothing here sends anything: that is for
//! the program, or for the clients of the feature `model-http`, which implement [`LanguageModel`]
//! and [`Embedder`].

pub use context_core::{
    Answer, AnswerDelta, AnswerStream, CacheMarks, EmbedAs, Embedder, HistoryRules, ImageLimits,
    LanguageModel, LiftedRequest, LoweredRequest, MessageCodec, MessageHash, ModelCodec,
    ModelError, ModelErrorCode, ModelRequest, Normalized, OutputSchema, StopReason, SummaryError,
    SummaryTask, TokenCount, TokenCounter, ToolChoice, Unanswered, Usage, normalize,
};
