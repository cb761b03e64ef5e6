//! Provider errors in a canonical form.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::base::display::clean_lines;
use crate::base::secrets;

/// An error that a provider reported, in provider-neutral form.
///
/// The details that recovery needs are parsed from the provider's message: window and output sizes,
/// image limits, the time to wait before a retry.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{provider} refused: {code}{}: {}", shown_status(.status), clean_lines(.message))]
#[non_exhaustive]
pub struct ModelError {
    /// The provider that reported the error: the name of the codec.
    pub provider: String,
    /// The class of the error.
    pub code: ModelErrorCode,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// The provider's message, shortened to a readable length.
    pub message: String,
    /// The provider's own code or type, verbatim.
    pub provider_code: Option<String>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// The time to wait before a retry, if the provider reported one.
    pub retry_after: Option<Duration>,
    /// Whether a shorter history could help.
    pub helped_by_compaction: bool,
    /// Whether a request with fewer images could help.
    pub helped_by_fewer_images: bool,
    /// Whether the provider refuses reasoning in the history, for example because of an invalid
    /// signature.
    pub refuses_thoughts: bool,
    /// Whether the provider refuses unmatched tool calls and results in the history.
    pub refuses_pairs: bool,
    /// The model's window in tokens.
    pub window: Option<u64>,
    /// Number of tokens in the request.
    pub input_tokens: Option<u64>,
    /// The maximum number of output tokens of the model.
    pub max_output_tokens: Option<u64>,
    /// Number of tokens that are left for the answer to this request.
    pub available_output_tokens: Option<u64>,
    /// The provider's image limits.
    pub images: ImageLimits,
}

crate::readable_debug!(ModelError);

/// Limits on images, as far as an error reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ImageLimits {
    /// Maximum number of images in a request.
    pub count: Option<u64>,
    /// Maximum size of an image in bytes.
    pub bytes: Option<u64>,
    /// Maximum edge length of an image in pixels.
    pub pixels: Option<u64>,
}

/// The class of a [`ModelError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelErrorCode {
    /// The request does not fit the window.
    ContextOverflow,
    /// The request has too many bytes.
    RequestTooLarge,
    /// The request asks for more output than the model can write.
    OutputTooLarge,
    /// Too many requests. Retry later.
    RateLimit,
    /// The account has no credit or quota left. A retry does not help.
    Billing,
    /// The API key is missing or invalid, or does not permit the model.
    Authentication,
    /// The model does not exist.
    ModelNotFound,
    /// An image was refused: too large, too many, unreadable, or not supported by the model.
    Image,
    /// The request is not valid.
    InvalidRequest,
    /// The provider is overloaded. Retry later.
    Overloaded,
    /// The provider failed internally.
    Server,
    /// The call timed out.
    Timeout,
    /// The connection failed: DNS, routing, TLS or proxy.
    Network,
    /// The provider refused the content.
    ContentFilter,
    /// Any other error.
    Unknown,
}

impl ModelErrorCode {
    /// Returns the stable name.
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
    /// Creates an error from a code and a message, without further details. API keys in the message
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
        // The history determines how much of the window is left for the answer.
        let no_room = self.code == Code::OutputTooLarge && self.available_output_tokens.is_some();
        self.helped_by_compaction =
            no_room || matches!(self.code, Code::ContextOverflow | Code::RequestTooLarge);
        self.helped_by_fewer_images = matches!(self.code, Code::Image | Code::RequestTooLarge);
    }
}
