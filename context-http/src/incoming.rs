//! Replies.

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;
use context_core::CancelSignal;
use reqwest::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;

use crate::client::Limits;
use crate::deadline::{Deadline, with_limits};
use crate::error::TooLong;
use crate::{Event, EventParser, HttpError, Phase};

/// A reply that has begun with a status of success. Dropping it closes the connection.
pub struct Incoming {
    response: reqwest::Response,
    address: String,
    deadline: Deadline,
    limits: Limits,
    read: usize,
}

/// A whole reply. `Debug` shows no content.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpReply {
    /// The status, one of success.
    pub status: u16,
    /// The content type that the service declares.
    pub content_type: Option<String>,
    /// The body.
    pub body: Bytes,
    address: String,
}

impl Incoming {
    /// Creates a reply whose head has arrived. Fails if its declared length is too large.
    pub(crate) fn new(
        response: reqwest::Response,
        address: String,
        deadline: Deadline,
        limits: Limits,
    ) -> Result<Self, HttpError> {
        let incoming = Self { response, address, deadline, limits, read: 0 };
        let announced = incoming.response.content_length().unwrap_or_default();
        if announced > limits.reply_bytes as u64 {
            return Err(incoming.too_long(TooLong::Reply, limits.reply_bytes));
        }
        Ok(incoming)
    }

    /// Returns the status, one of success.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Returns the content type that the service declares.
    pub fn content_type(&self) -> Option<&str> {
        self.response.headers().get(CONTENT_TYPE)?.to_str().ok()
    }

    /// Returns whether the service declares server-sent events.
    pub fn is_events(&self) -> bool {
        let kind = self.content_type().and_then(|kind| kind.split(';').next());
        kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
    }

    /// Returns the next chunk of the body, or `None` at its end.
    pub async fn chunk(&mut self, cancel: &CancelSignal) -> Result<Option<Bytes>, HttpError> {
        let idle = (Phase::Idle, self.limits.idle);
        let chunk =
            with_limits(self.response.chunk(), idle, &self.deadline, &self.address, cancel).await?;
        let chunk = chunk.map_err(|error| HttpError::Broken {
            address: self.address.clone(),
            source: error.without_url().into(),
        })?;
        self.read = self.read.saturating_add(chunk.as_ref().map_or(0, Bytes::len));
        if self.read > self.limits.reply_bytes {
            return Err(self.too_long(TooLong::Reply, self.limits.reply_bytes));
        }
        Ok(chunk)
    }

    /// Waits for the whole body.
    pub async fn whole(mut self, cancel: &CancelSignal) -> Result<HttpReply, HttpError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk(cancel).await? {
            body.extend_from_slice(&chunk);
        }
        let content_type = self.content_type().map(str::to_owned);
        Ok(HttpReply {
            status: self.status(),
            content_type,
            body: body.into(),
            address: self.address,
        })
    }

    /// Reads the body as server-sent events, whatever its declared content type.
    pub fn events(self) -> Events {
        let parser = EventParser::new(self.limits.event_bytes);
        Events { incoming: self, parser, ready: VecDeque::new(), failed: None, is_over: false }
    }

    /// Returns at most `most` bytes of the body, and whether it is incomplete. A broken connection
    /// or a timeout ends the body.
    pub(crate) async fn beginning(
        mut self,
        most: usize,
        cancel: &CancelSignal,
    ) -> Result<(Vec<u8>, bool), HttpError> {
        let mut body = Vec::new();
        loop {
            match self.chunk(cancel).await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return Ok((body, false)),
                Err(HttpError::Cancelled) => return Err(HttpError::Cancelled),
                Err(_) => return Ok((body, true)),
            }
            if body.len() > most {
                body.truncate(most);
                return Ok((body, true));
            }
        }
    }

    pub(crate) fn headers(&self) -> &reqwest::header::HeaderMap {
        self.response.headers()
    }

    fn too_long(&self, part: TooLong, limit: usize) -> HttpError {
        HttpError::TooLong { address: self.address.clone(), part, limit }
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Incoming");
        shown
            .field("address", &self.address)
            .field("status", &self.status())
            .field("read", &self.read);
        shown.finish_non_exhaustive()
    }
}

impl HttpReply {
    /// Parses the body as JSON, whatever its declared content type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(&self.body).map_err(|error| HttpError::NotJson {
            address: self.address.clone(),
            line: error.line(),
            column: error.column(),
        })
    }

    /// Returns the body as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl fmt::Debug for HttpReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("HttpReply");
        shown.field("address", &self.address).field("status", &self.status);
        shown.field("content_type", &self.content_type).field("bytes", &self.body.len()).finish()
    }
}

/// A reply that arrives as server-sent events. Dropping it closes the connection.
#[derive(Debug)]
pub struct Events {
    incoming: Incoming,
    parser: EventParser,
    ready: VecDeque<Event>,
    /// The error to return once all events before it have been returned.
    failed: Option<HttpError>,
    is_over: bool,
}

impl Events {
    /// Returns the next event, or `None` at the end of the stream. An error also ends the stream:
    /// after it there are no events.
    pub async fn next(&mut self, cancel: &CancelSignal) -> Result<Option<Event>, HttpError> {
        loop {
            if cancel.is_cancelled() {
                self.end();
                return Err(HttpError::Cancelled);
            }
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if self.is_over {
                return Ok(None);
            }
            match self.incoming.chunk(cancel).await {
                Ok(Some(bytes)) => {
                    if let Err(part) = self.parser.push(&bytes, &mut self.ready) {
                        self.is_over = true;
                        self.failed =
                            Some(self.incoming.too_long(part, self.incoming.limits.event_bytes));
                    }
                }
                Ok(None) => {
                    self.is_over = true;
                    self.ready.extend(self.parser.finish());
                }
                Err(error) => {
                    self.end();
                    return Err(error);
                }
            }
        }
    }

    fn end(&mut self) {
        self.is_over = true;
        self.failed = None;
        self.ready.clear();
    }
}
