//! The client.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use context_core::CancelSignal;
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Url, redirect, retry};

use crate::address::{Address, shown};
use crate::deadline::{Deadline, with_limits};
use crate::options::Value;
use crate::proxy::Choice;
use crate::redact::Redactor;
use crate::{
    ClientOptions, HttpError, HttpReply, Incoming, Phase, Refused, Request, Retries, retry_after,
};

/// The timeout for the body of a refusal. The body is only a message; the status has
/// said all that counts.
const REFUSAL: Duration = Duration::from_secs(5);
/// Maximum length of a request id, in characters.
const LONGEST_REQUEST_ID: usize = 100;

/// A client for one service. A clone is the same client, with the same connections. `Debug` shows
/// the address and no key.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    native: reqwest::Client,
    address: Address,
    redactor: Redactor,
    limits: Limits,
    options: ClientOptions,
}

/// The limits while a reply arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) idle: Duration,
    pub(crate) reply_bytes: usize,
    pub(crate) event_bytes: usize,
}

impl Client {
    /// Creates a client for the service at this address, such as `https://api.example.com/v1`.
    /// Paths of requests are appended to it, and its query is sent with each request. No connection
    /// is made.
    ///
    /// # Errors
    ///
    /// Fails if the address, a header or the proxy is not valid for HTTP, if the address holds
    /// credentials, if it is [plain HTTP](HttpError::PlainHttp) on another machine, and if there
    /// are no trusted certificates.
    pub fn new(address: &str, options: ClientOptions) -> Result<Self, HttpError> {
        let address = Address::read(address, options.plain_http)?;
        let pairs = options.headers.iter().map(|(name, value)| match value {
            Value::Open(value) => (name.as_str(), value.clone(), false),
            Value::Secret(front, secret) => {
                (name.as_str(), format!("{front}{}", secret.expose()), true)
            }
        });
        let mut native = reqwest::Client::builder()
            .default_headers(header_map(pairs)?)
            .user_agent(options.user_agent.as_str())
            .connect_timeout(options.connect)
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false);
        match options.proxy.native()? {
            Some(proxy) => native = native.no_proxy().proxy(proxy),
            None if matches!(options.proxy.0, Choice::None) || address.is_loopback() => {
                native = native.no_proxy();
                // Plain HTTP needs no trusted certificates, so none are loaded.
                if address.is_plain() {
                    native = native.tls_certs_only([]);
                }
            }
            None => {}
        }
        // Has no effect if the application has chosen a provider already.
        rustls::crypto::ring::default_provider().install_default().ok();
        let native = native
            .build()
            .map_err(|error| HttpError::Client { source: error.without_url().into() })?;
        let limits = Limits {
            idle: options.idle,
            reply_bytes: options.reply_bytes,
            event_bytes: options.event_bytes,
        };
        let redactor = Redactor::new(&options.secrets());
        Ok(Self { inner: Arc::new(Inner { native, address, redactor, limits, options }) })
    }

    /// Returns a client with the same connections that retries this often.
    #[must_use]
    pub fn with_retries(&self, retries: Retries) -> Self {
        let inner = &*self.inner;
        Self {
            inner: Arc::new(Inner {
                native: inner.native.clone(),
                address: inner.address.clone(),
                redactor: inner.redactor.clone(),
                limits: inner.limits,
                options: inner.options.clone().retries(retries),
            }),
        }
    }

    /// Sends a request and waits for the whole reply.
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open), and errors while the reply arrives, which are retried as
    /// well if that does no harm.
    pub async fn send(
        &self,
        request: &Request,
        cancel: &CancelSignal,
    ) -> Result<HttpReply, HttpError> {
        let mut attempts = Attempts::new(self, request, cancel);
        loop {
            let reply = match self.open_once(request, &attempts.deadline, cancel).await {
                Ok(incoming) => incoming.whole(cancel).await,
                Err(error) => Err(error),
            };
            match reply {
                Ok(reply) => return Ok(reply),
                Err(error) => attempts.wait_before_retry(error).await?,
            }
        }
    }

    /// Sends a request and waits until the reply begins. Errors after that are not retried.
    ///
    /// # Errors
    ///
    /// Fails if the request cannot be built, if there is no reply in time, if the reply is a
    /// refusal or a redirect, and with [`Cancelled`](HttpError::Cancelled) soon after the signal is
    /// raised.
    pub async fn open(
        &self,
        request: &Request,
        cancel: &CancelSignal,
    ) -> Result<Incoming, HttpError> {
        let mut attempts = Attempts::new(self, request, cancel);
        loop {
            match self.open_once(request, &attempts.deadline, cancel).await {
                Ok(incoming) => return Ok(incoming),
                Err(error) => attempts.wait_before_retry(error).await?,
            }
        }
    }

    /// Removes this client's secrets, and everything that looks like a key, from a service's text
    /// that will be shown. Secrets shorter than six bytes are kept: they are words, such as the
    /// `none` that local servers are given.
    pub fn redact(&self, text: &str) -> String {
        self.inner.redactor.redact(text)
    }

    /// Returns the address, without its query.
    pub fn address(&self) -> String {
        self.inner.address.to_string()
    }

    async fn open_once(
        &self,
        request: &Request,
        deadline: &Deadline,
        cancel: &CancelSignal,
    ) -> Result<Incoming, HttpError> {
        let Inner { native, address, limits, options, .. } = &*self.inner;
        let url = address.of(request)?;
        let address = shown(&url);
        let own = request.headers(|name| options.open_header(name));
        let own = own.iter().map(|(name, value)| (name.as_str(), value.clone(), false));
        let mut sent = native
            .request(request.method().native(), url.clone())
            .header(ACCEPT, request.accept())
            .headers(header_map(own)?);
        if let Some(body) = request.content() {
            sent = sent.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        let head = (Phase::Head, options.head);
        let response = with_limits(sent.send(), head, deadline, &address, cancel).await?;
        let response = response.map_err(|error| self.failed(error, &url))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(HttpError::Redirected { address, status: status.as_u16() });
        }
        if !status.is_success() {
            let unlimited = Limits { reply_bytes: usize::MAX, ..*limits };
            let incoming =
                Incoming::new(response, address, deadline.or_within(REFUSAL), unlimited)?;
            return Err(self.refused(incoming, shown(&url), cancel).await?);
        }
        if is_encoded(response.headers()) {
            return Err(HttpError::Compressed { address });
        }
        Incoming::new(response, address, *deadline, *limits)
    }

    /// Returns the error for a status other than success, with as much of the body as may be read.
    async fn refused(
        &self,
        incoming: Incoming,
        address: String,
        cancel: &CancelSignal,
    ) -> Result<HttpError, HttpError> {
        let Inner { redactor, options, .. } = &*self.inner;
        let text = |name: &str| incoming.headers().get(name).and_then(|value| value.to_str().ok());
        let request_id = text("x-request-id").or_else(|| text("request-id"));
        let request_id =
            request_id.map(|id| redactor.redact(id).chars().take(LONGEST_REQUEST_ID).collect());
        let advice = text("x-should-retry").and_then(|advice| advice.parse().ok());
        let retry_after = retry_after::read(incoming.headers());
        let status = incoming.status();
        let encoded = is_encoded(incoming.headers());
        // Secrets are removed before anything is cut, because half a secret would not be found. The
        // end of the text that was read is dropped, because it may be half a secret.
        let more = redactor.longest() + char::MAX_LEN_UTF8;
        let most = options.error_bytes;
        let (body, is_cut) = incoming.beginning(most.saturating_add(more), cancel).await?;
        let mut body = redactor.redact(&String::from_utf8_lossy(&body));
        if is_cut {
            let end = body.len().saturating_sub(more).min(most);
            body.truncate(body.floor_char_boundary(end));
        }
        let body = if encoded { String::new() } else { body };
        let refused = Refused { address, status, retry_after, request_id, body, is_cut, advice };
        Ok(HttpError::Refused(Box::new(refused)))
    }

    /// Returns the error of a request without a reply. Addresses are removed from the client's
    /// message, because they may hold keys.
    fn failed(&self, error: reqwest::Error, url: &Url) -> HttpError {
        let address = shown(url);
        let (connect, timeout, untrusted) =
            (error.is_connect(), error.is_timeout(), is_untrusted(&error));
        let source = error.without_url().into();
        match (connect, timeout) {
            _ if untrusted => HttpError::Untrusted { address, source },
            (true, true) => {
                let longest = self.inner.options.connect;
                HttpError::Timeout { address, phase: Phase::Connect, longest }
            }
            (true, false) => HttpError::Unreachable { address, source },
            (false, _) => HttpError::Broken { address, source },
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { address, options, .. } = &*self.inner;
        f.debug_struct("Client").field("address", address).field("options", options).finish()
    }
}

/// The attempts of one call.
struct Attempts<'c> {
    client: &'c Client,
    cancel: &'c CancelSignal,
    repeatable: bool,
    deadline: Deadline,
    /// The number of retries so far.
    retries_done: u32,
    waited: Duration,
}

impl<'c> Attempts<'c> {
    fn new(client: &'c Client, request: &Request, cancel: &'c CancelSignal) -> Self {
        let deadline = Deadline::within(client.inner.options.total);
        let repeatable = request.is_repeatable();
        Self { client, cancel, repeatable, deadline, retries_done: 0, waited: Duration::ZERO }
    }

    /// Waits before the next attempt; returns the error if there is none.
    async fn wait_before_retry(&mut self, error: HttpError) -> Result<(), HttpError> {
        let options = &self.client.inner.options;
        let wait = options.retries.wait(self.retries_done, self.waited, &error, self.repeatable);
        let Some(wait) = wait.filter(|wait| self.deadline.leaves(*wait)) else { return Err(error) };
        self.retries_done += 1;
        self.waited = self.waited.saturating_add(wait);
        tracing::debug!(
            status = error.status(),
            retries_done = self.retries_done,
            ?wait,
            "asks again: {error}"
        );
        let address = self.client.address();
        let never = (Phase::Total, Duration::MAX);
        with_limits(options.pauses.pause(wait), never, &self.deadline, &address, self.cancel).await
    }
}

/// Creates headers from names and values, and whether each is secret.
fn header_map<'h>(
    pairs: impl Iterator<Item = (&'h str, String, bool)>,
) -> Result<HeaderMap, HttpError> {
    let mut headers = HeaderMap::new();
    for (number, (name, value, is_secret)) in pairs.enumerate() {
        let bad = || HttpError::BadHeader { number };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| bad())?;
        value.set_sensitive(is_secret);
        headers.append(name, value);
    }
    Ok(headers)
}

/// Returns whether the cause is a certificate.
fn is_untrusted(error: &(dyn Error + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return matches!(error, rustls::Error::InvalidCertificate(_));
    }
    // The sources of an IO error that wraps another error skip the wrapped error itself.
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => is_untrusted(wrapped),
        None => error.source().is_some_and(is_untrusted),
    }
}

/// Returns whether the body has a content encoding. This client decodes none.
fn is_encoded(headers: &HeaderMap) -> bool {
    let plain =
        |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    headers.get_all(CONTENT_ENCODING).iter().any(|value| !value.is_empty() && !plain(value))
}

#[cfg(test)]
mod tests {
    use rustls::CertificateError;

    use super::*;

    #[test]
    fn a_certificate_is_found_however_deep_it_is_wrapped() {
        let untrusted = || rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        assert!(is_untrusted(&untrusted()));
        assert!(is_untrusted(&io::Error::other(io::Error::new(
            io::ErrorKind::InvalidData,
            untrusted()
        ))));
        let deep = HttpError::Unreachable {
            address: String::new(),
            source: io::Error::other(untrusted()).into(),
        };
        assert!(is_untrusted(&deep));
        let other = rustls::Error::HandshakeNotComplete;
        assert!(
            !is_untrusted(&io::Error::other(other))
                && !is_untrusted(&io::Error::other("certificate"))
        );
    }
}
