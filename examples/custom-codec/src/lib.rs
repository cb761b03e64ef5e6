//! A custom wire codec: the chat form of Acme, a provider that we made up.
//!
//! Copy this package and replace the form. The kit, `context-codec-kit`, repairs histories and
//! tools before they are sent, compares bodies, and classifies errors. What is left is the form
//! itself: `form.rs` has its types, `request.rs` translates bodies, `answer.rs` answers.
//!
//! ```json
//! {"model": "acme-1", "system": "You book trips.", "limit": 1000,
//!  "tools": [{"name": "find", "description": "Finds trains.", "schema": {"type": "object"}}],
//!  "messages": [
//!    {"role": "user", "text": "When is the next train to Porto?"},
//!    {"role": "assistant", "calls": [{"id": "c1", "name": "find", "input": {"to": "Porto"}}]},
//!    {"role": "tool", "results": [{"id": "c1", "text": "10:05"}]}
//!  ]}
//! ```
//!
//! An answer is `{"message": {…}, "stop": "end", "usage": {"input": 9, "output": 2}}`. Streamed, it
//! comes as events: `{"text": "At "}`, `{"call": {"id": "c1", "name": "find"}}`,
//! `{"input": "{\"to\":"}`, `{"stop": "calls"}`.
//!
//! `tests/conformance.rs` tests the codec against rules of the provider that it writes down itself.
//! To use the codec, hand it to `ModelCall::new`.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod answer;
mod form;
mod request;

use context_core::model::{AnswerStream, LiftedRequest, LoweredRequest, ModelCodec, WireError};
use context_core::{Answer, Json, MessageCodec, ModelError, ModelRequest};

/// The name of the form, and the prefix of its metadata keys.
const NAME: &str = "acme";
/// The metadata key of a request under which its source is kept, if the form's types do not hold
/// all of it. The codecs beside this example keep the difference only, message by message.
const SOURCE_KEY: &str = "acme.source";

/// The codec of Acme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcmeCodec;

impl MessageCodec for AcmeCodec {
    fn name(&self) -> &'static str {
        NAME
    }

    fn lower(&self, request: &ModelRequest) -> Result<LoweredRequest, WireError> {
        request::lower(request)
    }

    fn lower_source(&self, request: &ModelRequest) -> LoweredRequest {
        request::lower_source(request)
    }

    fn lift(&self, body: &Json) -> Result<LiftedRequest, WireError> {
        request::lift(body)
    }
}

impl ModelCodec for AcmeCodec {
    fn lift_answer(&self, body: &Json) -> Result<Answer, WireError> {
        answer::lift(body)
    }

    fn answer_stream(&self) -> Box<dyn AnswerStream> {
        Box::<answer::AcmeStream>::default()
    }

    fn lift_error(&self, status: Option<u16>, body: &str) -> ModelError {
        context_codec_kit::classify(NAME, status, body)
    }
}
