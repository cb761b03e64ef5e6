//! Options of a client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::pauses::TokioPauses;
use crate::{Pauses, Proxy, Retries, Secret};

/// Options of a [`Client`](crate::Client): timeouts, size limits, headers and credentials. `Debug`
/// shows names of headers, and no value.
#[derive(Clone)]
#[must_use]
pub struct ClientOptions {
    pub(crate) connect: Duration,
    pub(crate) head: Duration,
    pub(crate) idle: Duration,
    pub(crate) total: Duration,
    pub(crate) retries: Retries,
    pub(crate) reply_bytes: usize,
    pub(crate) event_bytes: usize,
    pub(crate) error_bytes: usize,
    pub(crate) headers: Vec<(String, Value)>,
    pub(crate) user_agent: String,
    pub(crate) proxy: Proxy,
    pub(crate) plain_http: bool,
    pub(crate) pauses: Arc<dyn Pauses>,
}

/// The value of a header.
#[derive(Clone)]
pub(crate) enum Value {
    Open(String),
    /// A prefix and a secret, such as `Bearer ` and a token.
    Secret(&'static str, Secret),
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            head: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(120),
            retries: Retries::default(),
            reply_bytes: 64 << 20,
            event_bytes: 16 << 20,
            error_bytes: 64 << 10,
            headers: Vec::new(),
            user_agent: concat!("context/", env!("CARGO_PKG_VERSION")).to_owned(),
            proxy: Proxy::default(),
            plain_http: false,
            pauses: Arc::new(TokioPauses),
        }
    }
}

impl ClientOptions {
    /// Limits the wait for a connection, TLS included. Default: 10 seconds.
    pub fn connect_timeout(mut self, longest: Duration) -> Self {
        self.connect = longest;
        self
    }

    /// Limits the wait from the beginning of an attempt until a reply begins. Default: 60 seconds.
    pub fn head_timeout(mut self, longest: Duration) -> Self {
        self.head = longest;
        self
    }

    /// Limits the wait for the next chunk of a reply that has begun. Default: 60 seconds.
    pub fn idle_timeout(mut self, longest: Duration) -> Self {
        self.idle = longest;
        self
    }

    /// Limits the total time of a call: its attempts, the waits between them and the reply,
    /// including one that arrives as events. Default: 120 seconds.
    pub fn total_timeout(mut self, longest: Duration) -> Self {
        self.total = longest;
        self
    }

    /// Sets the retry policy.
    pub fn retries(mut self, retries: Retries) -> Self {
        self.retries = retries;
        self
    }

    /// Limits the bytes of a reply, or of all its events together. Default: 64 MiB.
    pub fn max_reply_bytes(mut self, bytes: usize) -> Self {
        self.reply_bytes = bytes;
        self
    }

    /// Limits the bytes of one event, in one line or several. Default: 16 MiB.
    pub fn max_event_bytes(mut self, bytes: usize) -> Self {
        self.event_bytes = bytes;
        self
    }

    /// Limits the bytes that are read of the body of a refusal. The body is read for at most five
    /// seconds; the rest is dropped. Default: 64 KiB.
    pub fn max_error_bytes(mut self, bytes: usize) -> Self {
        self.error_bytes = bytes;
        self
    }

    /// Adds a header to every request.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), Value::Open(value.into())));
        self
    }

    /// Adds a header to every request whose value is never shown.
    pub fn secret_header(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.headers.push((name.into(), Value::Secret("", value.into())));
        self
    }

    /// Sends `authorization: Bearer …` with every request.
    pub fn bearer(mut self, key: impl Into<Secret>) -> Self {
        self.headers.push(("authorization".to_owned(), Value::Secret("Bearer ", key.into())));
        self
    }

    /// Sets the user agent. Default: `context/` and a version.
    pub fn user_agent(mut self, name: impl Into<String>) -> Self {
        self.user_agent = name.into();
        self
    }

    /// Sets the proxy, or none. Default: the proxy that the environment names.
    pub fn proxy(mut self, proxy: Proxy) -> Self {
        self.proxy = proxy;
        self
    }

    /// Sets whether `http://` may be used beyond this machine, where keys and contents can be read
    /// on the way. Default: no. Allow it for a server in a trusted network.
    pub fn allow_plain_http(mut self, allowed: bool) -> Self {
        self.plain_http = allowed;
        self
    }

    /// Sets how the waits between attempts are spent. Default: on tokio's clock.
    pub fn pauses(mut self, pauses: Arc<dyn Pauses>) -> Self {
        self.pauses = pauses;
        self
    }

    /// Returns all secrets in the options.
    /// Returns the values of a header that is no secret, as one list.
    pub(crate) fn open_header(&self, name: &str) -> Option<String> {
        let values = self.headers.iter().filter_map(|(other, value)| match value {
            Value::Open(value) if other.eq_ignore_ascii_case(name) => Some(value.as_str()),
            _ => None,
        });
        let values: Vec<&str> = values.collect();
        (!values.is_empty()).then(|| values.join(","))
    }

    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let headers = self.headers.iter().filter_map(|(_, value)| match value {
            Value::Open(_) => None,
            Value::Secret(_, secret) => Some(secret.clone()),
        });
        headers.chain(self.proxy.secrets()).collect()
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ClientOptions")
            .field("connect_timeout", &self.connect)
            .field("head_timeout", &self.head)
            .field("idle_timeout", &self.idle)
            .field("total_timeout", &self.total)
            .field("retries", &self.retries)
            .field("max_reply_bytes", &self.reply_bytes)
            .field("max_event_bytes", &self.event_bytes)
            .field("max_error_bytes", &self.error_bytes)
            .field("headers", &headers)
            .field("proxy", &self.proxy)
            .field("allow_plain_http", &self.plain_http)
            .finish_non_exhaustive()
    }
}
