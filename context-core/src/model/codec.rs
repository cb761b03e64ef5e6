//! The seam between canonical requests and wire forms.

use std::fmt;

use crate::model::AnswerStream;
use crate::model::WireError;
use crate::{Answer, ModelError, ModelRequest};
use crate::{Diagnostic, Json};

/// Translates conversations to and from a wire form.
///
/// Implementors: be pure and synchronous; the same request gives the same bytes in every process.
/// Ids that must be invented are derived from the input.
pub trait MessageCodec: fmt::Debug + Send + Sync + 'static {
    /// The form's name, such as `anthropic`. It begins the metadata keys of what belongs to this
    /// form alone, up to the first `-`.
    fn name(&self) -> &'static str;

    /// Writes the body to send. The messages are [normalised](ModelRequest::normalized) first; what
    /// the form cannot hold is left out, with a diagnostic. An error if nothing is left to send.
    fn lower(&self, request: &ModelRequest) -> Result<LoweredRequest, WireError>;

    /// Writes the body as its source had it: for a request that was [lifted](Self::lift) an equal
    /// JSON value. Nothing is repaired.
    fn lower_source(&self, request: &ModelRequest) -> LoweredRequest;

    /// Reads a body. What has no place in a request is kept beside it.
    fn lift(&self, body: &Json) -> Result<LiftedRequest, WireError>;
}

/// A [`MessageCodec`] of a provider that answers.
pub trait ModelCodec: MessageCodec {
    /// Reads the body of an answer. The body of an error gives an answer without parts and with its
    /// [error](Answer::error).
    fn lift_answer(&self, body: &Json) -> Result<Answer, WireError>;

    /// Begins to read an answer that comes in events.
    fn answer_stream(&self) -> Box<dyn AnswerStream>;

    /// Reads what came back in place of an answer.
    fn lift_error(&self, status: Option<u16>, body: &str) -> ModelError;
}

/// A request in wire form.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct LoweredRequest {
    /// The body.
    pub body: Json,
    /// What was repaired, and what the form cannot hold.
    pub diagnostics: Vec<Diagnostic>,
}

impl LoweredRequest {
    /// A body and what should be known of it.
    pub fn new(body: Json, diagnostics: Vec<Diagnostic>) -> Self {
        Self { body, diagnostics }
    }
}

/// A request read from its wire form.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct LiftedRequest {
    /// The request.
    pub request: ModelRequest,
    /// What could not be understood; it was kept.
    pub diagnostics: Vec<Diagnostic>,
}

impl LiftedRequest {
    /// A request and what should be known of it.
    pub fn new(request: ModelRequest, diagnostics: Vec<Diagnostic>) -> Self {
        Self { request, diagnostics }
    }
}
