//! Sends traces to a collector over HTTP.

use std::fmt;
use std::time::Duration;

use context_core::Retry;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use serde::Deserialize;

use super::super::session::SessionGraph;
use super::spans::spans;
use super::{OtlpOptions, write_spans};

/// Where traces are taken, below the address of a collector.
const PATH: &str = "/v1/traces";
/// How many spans are sent at a time.
const BATCH: usize = 512;
/// How long one of these takes at most.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How much of an answer is read, in bytes.
const ANSWER: usize = 64 * 1024;

/// What keeps traces from a collector. Shows neither address nor headers, which may hold keys.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The address is none of HTTP.
    #[error("the address of the collector is none of http or https")]
    BadEndpoint,
    /// A header has a name or a value that HTTP does not have.
    #[error("header number {number} is none of HTTP")]
    BadHeader {
        /// Which one, from 0, in the order in which they were given.
        number: usize,
    },
    /// The client cannot be made, for example since there are no certificates to trust.
    #[error("the client of HTTP cannot be made")]
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
    /// The collector refused.
    #[error("the collector answered with status {status}")]
    Refused {
        /// The status of HTTP.
        status: u16,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
}

context_core::readable_debug!(SendError);

impl SendError {
    /// Whether the same may be sent again: spans have the same ids then. What OTLP says of each
    /// status.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Unreachable(_)
            | Self::Timeout
            | Self::Refused { status: 429 | 502 | 503 | 504, .. } => Retry::Safe,
            _ => Retry::Never,
        }
    }
}

/// What a collector took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// How many spans were sent.
    pub spans: usize,
    /// How many of them the collector rejected. They would be rejected again.
    pub rejected: u64,
    /// What it said, if it rejected or warned: the last of it.
    pub message: Option<String>,
}

/// A collector of OpenTelemetry: where it is, and who one is to it. `Debug` shows neither.
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
    /// A collector at an address such as `http://localhost:4318`: what is below it for traces is
    /// added, unless it is there.
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

    /// With one more header, such as one that holds a key.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Waits so long for each answer; ten seconds if nothing is said.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sends a graph, some hundred spans at a time. What fails has been sent up to there; all of it
    /// may be sent again, since the ids stay.
    ///
    /// Nothing is sent again here: [`SendError::retry`] says whether to. Redirections are not
    /// followed, since headers may hold keys.
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
            let answer = partial(answer).await?;
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
        // Does nothing where the program has chosen already.
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = Client::builder().default_headers(headers).timeout(self.timeout);
        // Without TLS there is nobody to trust, and no certificates need be there.
        let plain = self.address.scheme() == "http";
        let client = if plain { client.tls_certs_only([]) } else { client };
        let client = client.redirect(redirect::Policy::none()).build();
        client.map_err(|error| SendError::Client(error.without_url().into()))
    }
}

/// The address goes: it may hold a key.
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

/// What a collector says that took not all.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Partial {
    rejected_spans: Number,
    error_message: Option<String>,
}

/// Numbers of 64 bits are text in OTLP; some collectors write them as numbers.
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

impl Partial {
    fn rejected(&self) -> u64 {
        match &self.rejected_spans {
            Number::Number(number) => *number,
            Number::Text(text) => text.parse().unwrap_or(0),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Answer {
    partial_success: Option<Partial>,
}

/// Answers that are not JSON are those of collectors that have nothing to say.
async fn partial(mut answer: Response) -> Result<Partial, SendError> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > ANSWER {
            return Ok(Partial::default());
        }
        body.extend_from_slice(&chunk);
    }
    let answer: Answer = serde_json::from_slice(&body).unwrap_or_default();
    Ok(answer.partial_success.unwrap_or_default())
}
