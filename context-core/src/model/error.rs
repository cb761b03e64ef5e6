//! What a provider says in place of an answer.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::base::secrets;
use crate::base::shown::clean_lines;

/// What a provider said in place of an answer, in a form that does not depend on the provider.
///
/// What a caller needs in order to go on is parsed out of the words: sizes of windows and outputs,
/// limits of images, how long to wait.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{provider} refused: {code}{}: {}", shown_status(.status), clean_lines(.message))]
#[non_exhaustive]
pub struct ModelError {
    /// Who said it: the name of the codec.
    pub provider: String,
    /// What it is.
    pub code: ModelErrorCode,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// The provider's words, cut to a readable length.
    pub message: String,
    /// The provider's own code or type, as it was written.
    pub provider_code: Option<String>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// How long to wait first, if the provider says so.
    pub retry_after: Option<Duration>,
    /// Whether a shorter history would help.
    pub helped_by_compaction: bool,
    /// Whether a request without images would help.
    pub helped_by_fewer_images: bool,
    /// Whether the model's thoughts in the history are refused, such as a signature that does not
    /// fit them.
    pub refuses_thoughts: bool,
    /// Whether calls and results in the history are refused because they do not stand together.
    pub refuses_pairs: bool,
    /// The model's window, in tokens.
    pub window: Option<u64>,
    /// How many tokens the request had.
    pub input_tokens: Option<u64>,
    /// The most tokens the model writes.
    pub max_output_tokens: Option<u64>,
    /// How many tokens are left for the answer to this request.
    pub available_output_tokens: Option<u64>,
    /// What images may be.
    pub images: ImageLimits,
}

crate::readable_debug!(ModelError);

/// What images may be, as far as an error told it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ImageLimits {
    /// How many in a request.
    pub count: Option<u64>,
    /// How large one may be, in bytes.
    pub bytes: Option<u64>,
    /// How long an edge may be, in pixels.
    pub pixels: Option<u64>,
}

/// What a [`ModelError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelErrorCode {
    /// The request does not fit the window.
    ContextOverflow,
    /// The request has too many bytes.
    RequestTooLarge,
    /// More output was asked for than the model writes.
    OutputTooLarge,
    /// Too many requests; try later.
    RateLimit,
    /// The account has no credit or quota left; trying again does not help.
    Billing,
    /// The key or the right to use the model is missing.
    Authentication,
    /// There is no such model.
    ModelNotFound,
    /// An image cannot be taken: too large, too many, unreadable, or of no use to this model.
    Image,
    /// The request is not valid.
    InvalidRequest,
    /// The provider has too much to do; try later.
    Overloaded,
    /// The provider failed.
    Server,
    /// It took too long.
    Timeout,
    /// The connection failed: name, route, TLS or proxy.
    Network,
    /// The provider refuses the content.
    ContentFilter,
    /// Something else.
    Unknown,
}

impl ModelErrorCode {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContextOverflow => "context_overflow",
            Self::RequestTooLarge => "request_too_large",
            Self::OutputTooLarge => "output_too_large",
            Self::RateLimit => "rate_limit",
            Self::Billing => "billing",
            Self::Authentication => "authentication",
            Self::ModelNotFound => "model_not_found",
            Self::Image => "image",
            Self::InvalidRequest => "invalid_request",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::Timeout => "timeout",
            Self::Network => "network",
            Self::ContentFilter => "content_filter",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for ModelErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ModelErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

fn shown_status(status: &Option<u16>) -> String {
    status.map_or_else(String::new, |status| format!(" ({status})"))
}

impl ModelError {
    /// An error of this code and these words, about which nothing else is known. Keys in the words
    /// are masked.
    pub fn new(
        provider: impl Into<String>,
        code: ModelErrorCode,
        message: impl Into<String>,
    ) -> Self {
        let mut error = Self {
            provider: provider.into(),
            code,
            status: None,
            message: secrets::mask(&message.into()),
            provider_code: None,
            retryable: false,
            retry_after: None,
            helped_by_compaction: false,
            helped_by_fewer_images: false,
            refuses_thoughts: false,
            refuses_pairs: false,
            window: None,
            input_tokens: None,
            max_output_tokens: None,
            available_output_tokens: None,
            images: ImageLimits::default(),
        };
        error.judge();
        error
    }

    /// Sets `retryable` and what helps from the code and the numbers. Called by
    /// [`new`](Self::new); call it again after numbers were read.
    pub fn judge(&mut self) {
        use ModelErrorCode as Code;
        self.retryable = matches!(
            self.code,
            Code::RateLimit | Code::Overloaded | Code::Server | Code::Timeout | Code::Network
        );
        // The room for the answer is what the history leaves of the window.
        let no_room = self.code == Code::OutputTooLarge && self.available_output_tokens.is_some();
        self.helped_by_compaction =
            no_room || matches!(self.code, Code::ContextOverflow | Code::RequestTooLarge);
        self.helped_by_fewer_images = matches!(self.code, Code::Image | Code::RequestTooLarge);
    }
}
