//! What is asked.

use std::fmt;

use bytes::Bytes;
use context_core::Json;
use serde::Serialize;

use crate::HttpError;

/// A method of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Reads.
    Get,
    /// Does something; what, the service knows.
    Post,
    /// Puts something in place of what is there.
    Put,
    /// Changes a part.
    Patch,
    /// Takes away.
    Delete,
}

impl Method {
    /// Whether a second time changes nothing, by the rules of HTTP.
    pub fn is_repeatable(self) -> bool {
        matches!(self, Self::Get | Self::Put | Self::Delete)
    }

    pub(crate) fn native(self) -> reqwest::Method {
        match self {
            Self::Get => reqwest::Method::GET,
            Self::Post => reqwest::Method::POST,
            Self::Put => reqwest::Method::PUT,
            Self::Patch => reqwest::Method::PATCH,
            Self::Delete => reqwest::Method::DELETE,
        }
    }
}

/// A request below the address of a [`Client`](crate::Client). `Debug` shows neither query, headers
/// nor body.
#[derive(Clone)]
#[must_use]
pub struct Request {
    method: Method,
    segments: Vec<String>,
    queries: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Option<Bytes>,
    accept: &'static str,
    repeatable: bool,
}

impl Request {
    /// A request of this method at this path below the client's address, such as
    /// `chat/completions`: segments between slashes, as they are, not escaped.
    pub fn new(method: Method, path: &str) -> Self {
        Self {
            method,
            segments: path
                .split('/')
                .filter(|segment| !segment.is_empty())
                .map(str::to_owned)
                .collect(),
            queries: Vec::new(),
            headers: Vec::new(),
            body: None,
            accept: "application/json",
            repeatable: method.is_repeatable(),
        }
    }

    /// Reads what is there.
    pub fn get(path: &str) -> Self {
        Self::new(Method::Get, path)
    }

    /// Does something there.
    pub fn post(path: &str) -> Self {
        Self::new(Method::Post, path)
    }

    /// Puts something there.
    pub fn put(path: &str) -> Self {
        Self::new(Method::Put, path)
    }

    /// Takes away what is there.
    pub fn delete(path: &str) -> Self {
        Self::new(Method::Delete, path)
    }

    /// With one more segment of the path, such as an id: whatever is in it, it stays one segment.
    pub fn segment(mut self, segment: impl Into<String>) -> Self {
        self.segments.push(segment.into());
        self
    }

    /// With one more pair in the query.
    pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.queries.push((name.into(), value.into()));
        self
    }

    /// With one more header. It is not looked for in what the service says: a key belongs to the
    /// client, as a [secret](crate::ClientOptions::secret_header).
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With this body, written as JSON. An error if it cannot be written.
    pub fn json(mut self, body: &impl Serialize) -> Result<Self, HttpError> {
        let body =
            serde_json::to_vec(body).map_err(|error| HttpError::Write { source: error.into() })?;
        self.body = Some(body.into());
        Ok(self)
    }

    /// With this body.
    pub fn body(mut self, body: &Json) -> Self {
        self.body = Some(Bytes::copy_from_slice(body.as_str().as_bytes()));
        self
    }

    /// Asks for server-sent events in place of JSON.
    pub fn for_events(mut self) -> Self {
        self.accept = "text/event-stream";
        self
    }

    /// Says whether a second time does no harm, so that the request may be sent again when its
    /// reply was lost. Where nothing is said, the [method](Method::is_repeatable) says it.
    pub fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = repeatable;
        self
    }

    pub(crate) fn method(&self) -> Method {
        self.method
    }

    pub(crate) fn segments(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().map(String::as_str)
    }

    pub(crate) fn queries(&self) -> &[(String, String)] {
        &self.queries
    }

    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    pub(crate) fn content(&self) -> Option<&Bytes> {
        self.body.as_ref()
    }

    pub(crate) fn accept(&self) -> &'static str {
        self.accept
    }

    pub(crate) fn is_repeatable(&self) -> bool {
        self.repeatable
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.body.as_ref().map_or(0, Bytes::len);
        let mut shown = f.debug_struct("Request");
        shown
            .field("method", &self.method)
            .field("path", &self.segments.join("/"))
            .field("bytes", &bytes);
        shown.field("repeatable", &self.repeatable).finish_non_exhaustive()
    }
}
