//! Lifting of answers of the Interactions API. Its requests are not written here.
//!
//! To *lift* is to translate from the provider's wire form to the canonical form.
//!
//! | on the wire | in the message |
//! | --- | --- |
//! | a `thought` step | a reasoning part of provider `gemini-interactions`: the texts of its summary, its signature |
//! | the content of a `model_output` step | text (with its [annotations](ANNOTATIONS_KEY)), image, audio and document parts |
//! | a `function_call` step | a tool call |
//! | any other step, such as `google_search_call`, and other content | an opaque part of provider `gemini-interactions` |
//!
//! Texts, media and calls of such a message can be sent to any provider. Thoughts and opaque parts
//! are of no use outside this interface; generateContent does not accept them either.

mod steps;
mod stream;

use context_core::model::{AnswerStream, WireError};
use context_core::{Answer, Json};

/// The provider of opaque blocks and thoughts of this form.
pub const PROVIDER: &str = "gemini-interactions";

/// The metadata key of a text for the list of its annotations.
pub const ANNOTATIONS_KEY: &str = "gemini.annotations";

/// Lifts the body of an answer, or of an error.
///
/// ```
/// use context_codec_gemini::interactions;
/// use context_core::Json;
/// use context_core::model::StopReason;
///
/// let body = Json::from_text(
///     r#"{"id": "v1_x", "status": "completed", "steps": [
///         {"type": "model_output", "content": [{"type": "text", "text": "Madrid."}]}
///     ]}"#,
/// )?;
/// let answer = interactions::lift_answer(&body)?;
/// assert_eq!(answer.message.plain_text(), "Madrid.");
/// assert_eq!(answer.stop, Some(StopReason::Stop));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub fn lift_answer(body: &Json) -> Result<Answer, WireError> {
    let mut stream = stream::InteractionStream::default();
    stream.push_answer(body)?;
    Ok(AnswerStream::answer(&stream))
}

/// Creates a parser for a streamed answer.
pub fn answer_stream() -> Box<dyn AnswerStream> {
    Box::<stream::InteractionStream>::default()
}
