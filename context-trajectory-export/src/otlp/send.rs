//! Sending traces to a collector over HTTP.

use std::fmt;
use std::time::Duration;

use context_core::Retry;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use serde::Deserialize;

use super::spans::spans;
use super::{OtlpOptions, write_spans};
use context_trajectory::SessionGraph;

/// The path for traces below a collector's address.
const PATH: &str = "/v1/traces";
/// The number of spans per request.
const BATCH: usize = 512;
/// The default time limit of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest number of bytes of an answer that are read.
const ANSWER: usize = 64 * 1024;

/// The reason why traces could not be sent. Shows neither the address nor headers, which may
/// contain keys.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The address is not an HTTP URL.
    #[error("the scheme of the collector's address is neither http nor https")]
    BadEndpoint,
    /// A header has an invalid name or value.
    #[error("header number {number} is not a valid HTTP header")]
    BadHeader {
        /// The position of the header in the order in which headers were added, from 0.
        number: usize,
    },
    /// The HTTP client cannot be created, for example because there are no trusted certificates.
    #[error("the HTTP client cannot be created")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The graph could not be written.
    #[error("traces cannot be written as JSON")]
    Write(#[source] std::io::Error),
    /// The collector cannot be reached, or the connection broke.
    #[error("the collector cannot be reached")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The collector did not answer in time.
    #[error("the collector did not answer in time")]
    Timeout,
    /// The collector refused the request.
    #[error("the collector answered with status {status}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The delay that the collector asks for.
        retry_after: Option<Duration>,
    },
}

context_core::readable_debug!(SendError);

impl SendError {
    /// Returns whether the request may be retried, by the status codes that OTLP defines as
    /// retryable. Span ids stay the same in a retry.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Unreachable(_)
            | Self::Timeout
            | Self::Refused { status: 429 | 502 | 503 | 504, .. } => Retry::Safe,
            _ => Retry::Never,
        }
    }
}

/// The outcome of sending traces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// The number of spans sent.
    pub spans: usize,
    /// The number of spans that the collector rejected. They would be rejected again.
    pub rejected: u64,
    /// The last message of the collector, if it rejected spans or sent a warning.
    pub message: Option<String>,
}

/// The address of an OpenTelemetry collector, and the headers that authenticate the sender. `Debug`
/// shows neither.
#[derive(Clone)]
#[must_use]
pub struct Collector {
    address: Url,
    headers: Vec<(String, String)>,
    timeout: Duration,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Collector");
        shown
            .field("headers", &self.headers.len())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl Collector {
    /// Creates a collector from an address such as `http://localhost:4318`. The path for traces is
    /// appended unless the address has it already.
    pub fn new(endpoint: &str) -> Result<Self, SendError> {
        let mut address = Url::parse(endpoint).map_err(|_| SendError::BadEndpoint)?;
        if !["http", "https"].contains(&address.scheme()) {
            return Err(SendError::BadEndpoint);
        }
        let path = address.path().trim_end_matches('/');
        if !path.ends_with(PATH) {
            let path = format!("{path}{PATH}");
            address.set_path(&path);
        }
        Ok(Self { address, headers: Vec::new(), timeout: TIMEOUT })
    }

    /// Adds a header, such as one with an API key.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the time limit of each request. Default: ten seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sends a graph in batches of several hundred spans. After an error the earlier batches have
    /// been sent. The whole graph may be sent again, since the ids are deterministic.
    ///
    /// Requests are not retried here; [`SendError::retry`] tells whether a retry makes sense.
    /// Redirects are not followed, since headers may contain keys.
    pub async fn send(
        &self,
        graph: &SessionGraph,
        options: &OtlpOptions,
    ) -> Result<Sent, SendError> {
        let client = self.client()?;
        let spans = spans(graph, options.content);
        let mut sent = Sent::default();
        for batch in spans.chunks(BATCH) {
            let mut body = Vec::new();
            write_spans(batch, options, &mut body).map_err(SendError::Write)?;
            let request = client
                .post(self.address.clone())
                .header(CONTENT_TYPE, "application/json")
                .body(body);
            let answer = request.send().await.map_err(failed)?;
            if !answer.status().is_success() {
                return Err(refused(&answer));
            }
            let answer = partial_success(answer).await?;
            sent.spans += batch.len();
            sent.rejected = sent.rejected.saturating_add(answer.rejected());
            sent.message =
                answer.error_message.filter(|message| !message.is_empty()).or(sent.message);
        }
        Ok(sent)
    }

    fn client(&self) -> Result<Client, SendError> {
        let mut headers = HeaderMap::new();
        for (number, (name, value)) in self.headers.iter().enumerate() {
            let bad = || SendError::BadHeader { number };
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        // Has no effect if the application has chosen a provider already.
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = Client::builder().default_headers(headers).timeout(self.timeout);
        // Plain HTTP needs no trusted certificates, so none are loaded.
        let plain = self.address.scheme() == "http";
        let client = if plain { client.tls_certs_only([]) } else { client };
        let client = client.redirect(redirect::Policy::none()).build();
        client.map_err(|error| SendError::Client(error.without_url().into()))
    }
}

/// Converts an error of the HTTP client, without the URL, which may contain a key.
fn failed(error: reqwest::Error) -> SendError {
    if error.is_timeout() {
        SendError::Timeout
    } else {
        SendError::Unreachable(error.without_url().into())
    }
}

fn refused(answer: &Response) -> SendError {
    let seconds = answer
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let status: StatusCode = answer.status();
    SendError::Refused { status: status.as_u16(), retry_after: seconds.map(Duration::from_secs) }
}

/// The collector's report about rejected spans.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PartialSuccess {
    rejected_spans: Number,
    error_message: Option<String>,
}

/// A 64-bit number. OTLP writes it as a string; some collectors write a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Number(u64),
    Text(String),
}

impl Default for Number {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl PartialSuccess {
    fn rejected(&self) -> u64 {
        match &self.rejected_spans {
            Number::Number(number) => *number,
            Number::Text(text) => text.parse().unwrap_or(0),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CollectorAnswer {
    partial_success: Option<PartialSuccess>,
}

/// Reads the answer of the collector. An answer that is not JSON counts as an empty one.
async fn partial_success(mut answer: Response) -> Result<PartialSuccess, SendError> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > ANSWER {
            return Ok(PartialSuccess::default());
        }
        body.extend_from_slice(&chunk);
    }
    let answer: CollectorAnswer = serde_json::from_slice(&body).unwrap_or_default();
    Ok(answer.partial_success.unwrap_or_default())
}
