//! Codecs between canonical requests and the wire forms of providers.

use std::fmt;

use crate::model::{AnswerStream, WireError};
use crate::{Answer, Diagnostic, Json, ModelError, ModelRequest};

/// Translates conversations between the canonical form and a provider's wire form.
///
/// To *lower* is to translate from the canonical form ([`ModelRequest`]) to the wire form, that is
/// the JSON body of a provider's API. To *lift* is to translate from the wire form to the canonical
/// form. The terms come from compilers: lowering goes towards the target, lifting goes back.
///
/// Contract with implementors: be pure and synchronous. The same request yields the same bytes in
/// every process. Derive ids that have to be invented from the input.
pub trait MessageCodec: fmt::Debug + Send + Sync + 'static {
    /// Returns the name of the wire form, such as `anthropic`. The part before the first `-` is the
    /// prefix of metadata keys that belong to this form alone.
    fn name(&self) -> &'static str;

    /// Lowers a request to the body to send. Messages are normalized
    /// first. Content that the form cannot represent is left out, with a diagnostic. Fails if
    /// nothing is left to send.
    fn lower(&self, request: &ModelRequest) -> Result<LoweredRequest, WireError>;

    /// Lowers a request to the body that its source had: a request that was [lifted](Self::lift)
    /// yields an equal JSON value. Nothing is repaired.
    fn lower_source(&self, request: &ModelRequest) -> LoweredRequest;

    /// Lifts a body to a request. Content without a canonical form is kept as opaque data.
    fn lift(&self, body: &Json) -> Result<LiftedRequest, WireError>;
}

/// A [`MessageCodec`] of a provider that returns answers.
pub trait ModelCodec: MessageCodec {
    /// Lifts the body of a response. An error body yields an answer without parts and with its
    /// [error](Answer::error).
    fn lift_answer(&self, body: &Json) -> Result<Answer, WireError>;

    /// Creates a parser for a streamed answer.
    fn answer_stream(&self) -> Box<dyn AnswerStream>;

    /// Lifts the response to a failed call.
    fn lift_error(&self, status: Option<u16>, body: &str) -> ModelError;
}

/// A request in its wire form.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct LoweredRequest {
    /// The body.
    pub body: Json,
    /// Repairs, and content that the form cannot represent.
    pub diagnostics: Vec<Diagnostic>,
    /// Headers that this body needs besides those of every request, by name. Of a name that a
    /// program sends too, both values are sent, separated by a comma.
    pub headers: Vec<(&'static str, &'static str)>,
}

impl LoweredRequest {
    /// Creates a lowered request from a body and diagnostics.
    pub fn new(body: Json, diagnostics: Vec<Diagnostic>) -> Self {
        Self { body, diagnostics, headers: Vec::new() }
    }

    /// Adds headers that the body needs.
    pub fn headers(
        mut self,
        headers: impl IntoIterator<Item = (&'static str, &'static str)>,
    ) -> Self {
        self.headers.extend(headers);
        self
    }
}

/// A request that was lifted from its wire form.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct LiftedRequest {
    /// The request.
    pub request: ModelRequest,
    /// Content that could not be parsed. It was kept.
    pub diagnostics: Vec<Diagnostic>,
}

impl LiftedRequest {
    /// Creates a lifted request from a request and diagnostics.
    pub fn new(request: ModelRequest, diagnostics: Vec<Diagnostic>) -> Self {
        Self { request, diagnostics }
    }
}
