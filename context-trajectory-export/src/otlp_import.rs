//! Import of traces of other programs: OTLP in JSON, with the names of OpenTelemetry for generative
//! AI or those of OpenInference.

mod attributes;
mod document;
mod error;
mod messages;
mod parents;
mod rounds;
mod spans;

use std::collections::BTreeMap;

use context_core::trajectory::{AgentRef, Round};
use context_core::{SessionId, UserId};

pub use document::is_otlp_json;
pub use error::OtlpError;

/// The rounds of traces, and what was left out.
#[derive(Debug)]
#[must_use]
#[non_exhaustive]
pub struct OtlpImported {
    /// The rounds, by session, agent and number. They are not stored yet, so their revision is 0.
    pub rounds: Vec<Round>,
    /// The number of spans that are neither of an agent, nor of a model, nor of a tool, such as
    /// those of HTTP clients.
    pub other_spans: usize,
    /// The number of circles of spans that are each within the next, as in damaged files. The
    /// earliest span of a circle counts as within no other.
    pub circles: usize,
}

/// Reads traces in OTLP JSON: one object with `resourceSpans`, or several as a list or as JSON
/// Lines, as the file exporter of a collector writes them.
///
/// | traces | rounds |
/// |---|---|
/// | `gen_ai.conversation.id`, `session.id` | the session, unless one is given; else the trace |
/// | the span of an agent within no other, or a trace without one | a round of the main agent, in the order of their times |
/// | the span of an agent within another | a sub-agent, called by the node of the span around it |
/// | the last message of the user in the first model call | the question |
/// | system messages and instructions | knowledge |
/// | the span of a model call | a conclusion with model, tokens, times and error; the last one without tool calls is the answer |
/// | a tool call in its output, with the tool's span | an action with arguments, result, times and error |
/// | a tool's span without a call, a retrieval, an embedding | an action of the latest conclusion |
/// | attributes with another meaning | knowledge of the sort `attributes`, at the node of the span |
///
/// Messages are read from `gen_ai.input.messages` and `gen_ai.output.messages`, from the older
/// events such as `gen_ai.user.message` and `gen_ai.choice`, from flat names such as
/// `llm.input_messages.0.message.role` and `gen_ai.prompt.0.content`, and from `input.value` and
/// `output.value`. A span that occurs twice counts once. The same traces always give the same
/// rounds.
///
/// Fails if the text is not OTLP JSON, if a span has no id, and above a million spans.
pub fn read_otlp_json(
    text: &str,
    user: impl Into<UserId>,
    session: Option<SessionId>,
) -> Result<OtlpImported, OtlpError> {
    let user = user.into();
    let spans::Meaningful { spans, others, circles } = spans::meaningful(document::read(text)?)?;
    let mut sessions: BTreeMap<SessionId, Vec<spans::Span>> = BTreeMap::new();
    for span in spans {
        let name = session.clone().unwrap_or_else(|| span.session.as_str().into());
        sessions.entry(name).or_default().push(span);
    }
    let mut rounds = Vec::new();
    for (session, spans) in sessions {
        rounds.extend(rounds::of_session(&AgentRef::main(user.clone(), session), &spans)?);
    }
    Ok(OtlpImported { rounds, other_spans: others, circles })
}
