//! What a provider says in place of an answer.

mod body;
mod codes;
mod duration;
mod numbers;
mod pattern;
mod refusal;
mod wording;

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::secrets;
use crate::shown::clean_lines;

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

/// How much of the provider's words is shown, in characters.
const LONGEST_MESSAGE: usize = 500;
/// How much of the provider's own code is shown, in characters.
const LONGEST_CODE: usize = 100;

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

    /// Reads a status and a body of a provider, of a proxy in front of it, or the words of a failed
    /// connection.
    ///
    /// Every body is read: JSON of any provider, also cut off or wrapped into strings by proxies,
    /// pages, plain words. Of a long one the first 48 KiB and the last 16 KiB are looked at. Keys
    /// that a provider repeats are masked.
    ///
    /// ```
    /// use context_core::{ModelError, ModelErrorCode};
    ///
    /// let body = r#"{"type":"error","error":{"type":"invalid_request_error",
    ///     "message":"prompt is too long: 214676 tokens > 200000 maximum"}}"#;
    /// let error = ModelError::classify("anthropic", Some(400), body);
    /// assert_eq!(error.code, ModelErrorCode::ContextOverflow);
    /// assert_eq!((error.input_tokens, error.window), (Some(214_676), Some(200_000)));
    /// assert!(error.helped_by_compaction && !error.retryable);
    /// ```
    pub fn classify(provider: &str, status: Option<u16>, body: &str) -> Self {
        let body = body::Body::read(body);
        let words = pattern::fold(&body.words);
        // A stream is answered with 200 before it fails; then the body knows.
        let told =
            status.filter(|status| *status >= 400).or(body.status).or_else(|| told_status(&words));
        let verdict = wording::classify(&body, &words, told);
        let message = shortened(&secrets::mask(&body.message), LONGEST_MESSAGE);
        let mut error = Self::new(provider, verdict.code, message);
        error.status = status;
        error.provider_code =
            verdict.provider_code.map(|code| shortened(&secrets::mask(&code), LONGEST_CODE));
        numbers::read(&mut error, &words, &body);
        (error.refuses_thoughts, error.refuses_pairs) = refusal::of(error.code, &words);
        error.judge();
        if verdict.above_rate {
            error.retryable = false;
            error.helped_by_compaction = true;
        }
        // Who trusts the wrong certificate trusts it later too.
        if error.code == ModelErrorCode::Network && pattern::says(&words, "certificate") {
            error.retryable = false;
        }
        // Conflicts pass.
        error.retryable |= told == Some(409);
        error
    }

    /// Sets what follows from the code and the numbers.
    fn judge(&mut self) {
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

/// A status that stands in words only, as a failed call is printed.
fn told_status(words: &str) -> Option<u16> {
    const FRONTS: [&str; 6] = [
        "error code: #",
        "status code: #",
        "status code #",
        "http status #",
        "http #",
        "http/1.1 #",
    ];
    let start = words.trim_start();
    let first = start.split(' ').next().and_then(|word| word.trim_end_matches(':').parse().ok());
    let told = FRONTS.iter().find_map(|front| pattern::captures(words, front)?.first().copied());
    first
        .or(told)
        .and_then(|status| u16::try_from(status).ok())
        .filter(|status| (400..600).contains(status))
}

/// Words on one line, cut behind so many characters.
fn shortened(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    if let Some((end, _)) = out.char_indices().nth(longest) {
        out.truncate(end);
        out.push('…');
    }
    out
}
