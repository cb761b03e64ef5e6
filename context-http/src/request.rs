//! Requests.

use std::fmt;

use bytes::Bytes;
use context_core::Json;
use serde::Serialize;

use crate::HttpError;

/// An HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Reads a resource.
    Get,
    /// Performs an action that the service defines.
    Post,
    /// Replaces a resource.
    Put,
    /// Changes a part of a resource.
    Patch,
    /// Removes a resource.
    Delete,
}

impl Method {
    /// Returns whether the method is idempotent by the rules of HTTP.
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

/// A request to a path below the address of a [`Client`](crate::Client). `Debug` shows neither
/// query, headers nor body.
#[derive(Clone)]
#[must_use]
pub struct Request {
    method: Method,
    segments: Vec<String>,
    queries: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    /// Headers whose values are sent behind those of the client.
    listed: Vec<(String, String)>,
    body: Option<Bytes>,
    accept: &'static str,
    repeatable: bool,
}

impl Request {
    /// Creates a request with this method and path below the client's address, such as
    /// `chat/completions`: segments between slashes, unescaped.
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
            listed: Vec::new(),
            body: None,
            accept: "application/json",
            repeatable: method.is_repeatable(),
        }
    }

    /// Creates a GET request.
    pub fn get(path: &str) -> Self {
        Self::new(Method::Get, path)
    }

    /// Creates a POST request.
    pub fn post(path: &str) -> Self {
        Self::new(Method::Post, path)
    }

    /// Creates a PUT request.
    pub fn put(path: &str) -> Self {
        Self::new(Method::Put, path)
    }

    /// Creates a DELETE request.
    pub fn delete(path: &str) -> Self {
        Self::new(Method::Delete, path)
    }

    /// Appends a segment to the path, such as an id. Whatever it contains, it stays one segment.
    pub fn segment(mut self, segment: impl Into<String>) -> Self {
        self.segments.push(segment.into());
        self
    }

    /// Appends a pair to the query.
    pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.queries.push((name.into(), value.into()));
        self
    }

    /// Adds a header. Its value is not redacted from the service's texts: a key belongs to the
    /// client, as a [secret](crate::ClientOptions::secret_header).
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds a value to a header that is a list, such as `anthropic-beta`. It is sent behind the
    /// value that the client has for this header, unless it is one of that list.
    pub fn listed_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.listed.push((name.into(), value.into()));
        self
    }

    /// Sets the body, serialised as JSON. Fails if it cannot be serialised.
    pub fn json(mut self, body: &impl Serialize) -> Result<Self, HttpError> {
        let body =
            serde_json::to_vec(body).map_err(|error| HttpError::Write { source: error.into() })?;
        self.body = Some(body.into());
        Ok(self)
    }

    /// Sets the body.
    pub fn body(mut self, body: &Json) -> Self {
        self.body = Some(Bytes::copy_from_slice(body.as_str().as_bytes()));
        self
    }

    /// Asks for server-sent events instead of JSON.
    pub fn for_events(mut self) -> Self {
        self.accept = "text/event-stream";
        self
    }

    /// Sets whether sending the request twice does no harm, so that it may be sent again if its
    /// reply was lost. The default depends on the [method](Method::is_repeatable).
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

    /// Returns the headers. `of_client` returns the client's value of a header.
    pub(crate) fn headers(
        &self,
        of_client: impl Fn(&str) -> Option<String>,
    ) -> Vec<(String, String)> {
        let mut lists: Vec<(String, String)> = Vec::new();
        for (name, value) in &self.listed {
            let known = lists.iter().position(|(other, _)| other.eq_ignore_ascii_case(name));
            let at = known.unwrap_or_else(|| {
                lists.push((name.clone(), of_client(name).unwrap_or_default()));
                lists.len() - 1
            });
            let list = &mut lists[at].1;
            if list.split(',').any(|listed| listed.trim() == value) {
                continue;
            }
            if !list.is_empty() {
                list.push(',');
            }
            list.push_str(value);
        }
        lists.extend(self.headers.iter().cloned());
        lists
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
