//! Whole request bodies.

pub(super) mod compaction;
mod envelope;
mod lift;
mod source;
pub(super) mod tool;

use std::borrow::Cow;
use std::collections::HashSet;

use context_codec_kit::normalize::normalize;

use context_codec_kit::wire;
use context_core::base::{DiagnosticCode, Severity};
use context_core::message::Text;
use context_core::model::{AnswerStream, LiftedRequest, LoweredRequest, ModelCodec, WireError};
use context_core::{Answer, Diagnostic, Json, MessageCodec, ModelError, ModelRequest, Role};

use self::envelope::{Envelope, Format, FullBody, choice, has_key, written_system};
use super::fields::Fields;
use super::form::Mode;
use super::history::History;
use super::lower::Writer;
use super::marks::MarkPlacement;
use super::{DEFAULT_MAX_TOKENS, PROVIDER, RESPONSE_KEY, RULES};

/// The codec of Anthropic's Messages API: whole bodies of requests and answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct MessagesCodec;

impl MessageCodec for MessagesCodec {
    fn name(&self) -> &'static str {
        PROVIDER
    }

    fn lower(&self, request: &ModelRequest) -> Result<LoweredRequest, WireError> {
        // What is compacted may end with an answer.
        let prefill = request.prefill || request.compaction.is_some() || is_paused(request);
        let normalized = normalize(&request.messages, &RULES, request.unanswered, prefill);
        let mut writer = Writer::new(Mode::Request);
        writer.diagnostics.clone_from(&normalized.diagnostics);
        let system = writer.system(&request.system);
        let recalled = request.system.iter().position(Text::is_recalled);
        // A recall changes with each turn, so the mark of the system prompt stands before it.
        let stable = |at: usize| request.system[..at].iter().filter(|text| !text.text.is_blank());
        let stable_system = recalled.map(|at| stable(at).count());
        let mut history = History::read(&normalized, &mut writer);
        if history.turns.is_empty() {
            return Err(WireError::NothingToSend);
        }
        history.system.splice(0..0, system);
        let tools = context_codec_kit::normalize::normalize_tools(request, &RULES, PROVIDER);
        let mut envelope = Envelope::of(request, &tools.tools, tools.choice.as_deref());
        let mut diagnostics = writer.diagnostics;
        if tools.choice.is_none() && request.tool_choice.is_some() && envelope.has_more_tools() {
            // The choice may name one of the tools that no list of the request names.
            envelope.tool_choice = choice(request, request.tool_choice.as_ref());
            let noted =
                tools.diagnostics.iter().filter(|diagnostic| diagnostic.path != "tool_choice");
            diagnostics.extend(noted.cloned());
        } else {
            diagnostics.extend_from_slice(&tools.diagnostics);
        }
        sendable(&mut envelope, &mut diagnostics);
        if let Some(asked) = &request.compaction {
            compaction::ask(&mut envelope, asked, &mut diagnostics);
        }
        // One mark is used if the body asks for automatic ones.
        let used = usize::from(has_key(&envelope.extra, "cache_control"));
        let mut placement = MarkPlacement {
            tools: &mut envelope.tools,
            history: &mut history,
            stable_system,
            messages: &normalized,
            diagnostics: &mut diagnostics,
        };
        placement.place(&request.cache, request.cache_lifetime, used);
        if let Some(system) = written_system(&mut history.system, request) {
            envelope.extra.0.retain(|(key, _)| key != "system");
            envelope.system = Some(system);
        }
        let body = super::json(&FullBody { envelope: &envelope, messages: &history.turns });
        let headers = compaction::headers(&envelope, &history.turns);
        Ok(LoweredRequest::new(body, diagnostics).headers(headers))
    }

    fn lower_source(&self, request: &ModelRequest) -> LoweredRequest {
        source::body(request)
    }

    fn lift(&self, body: &Json) -> Result<LiftedRequest, WireError> {
        lift::body(body)
    }
}

impl ModelCodec for MessagesCodec {
    fn lift_answer(&self, body: &Json) -> Result<Answer, WireError> {
        super::answer::lift(self, body)
    }

    fn answer_stream(&self) -> Box<dyn AnswerStream> {
        Box::new(super::stream::Stream::default())
    }

    fn lift_error(&self, status: Option<u16>, body: &str) -> ModelError {
        context_codec_kit::classify(self.name(), status, body)
    }
}

/// Returns whether the last message is an answer that continues when it is sent back.
fn is_paused(request: &ModelRequest) -> bool {
    let last = request.messages.last().filter(|message| message.role == Role::Assistant);
    let facts = last.and_then(|message| message.metadata.get(RESPONSE_KEY));
    let facts = facts.and_then(|facts| Fields::inspect(facts.as_raw()));
    let stop = facts.as_ref().and_then(|facts| facts.peek("stop_reason"));
    matches!(stop.as_deref(), Some("pause_turn" | "compaction"))
}

/// Changes the envelope to what the provider accepts.
fn sendable(envelope: &mut Envelope<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut note = |path: String, why: &str| {
        let code = DiagnosticCode::Unrepresentable;
        diagnostics.push(Diagnostic::new(code, Severity::Warning, path, why));
    };
    if envelope.max_tokens.is_none() {
        envelope.max_tokens = Some(DEFAULT_MAX_TOKENS);
        envelope.extra.0.retain(|(key, _)| key != "max_tokens");
    }
    if let Some(temperature) = &mut envelope.temperature
        && !(0.0..=1.0).contains(temperature)
    {
        *temperature = temperature.clamp(0.0, 1.0);
        note("temperature".to_owned(), "the provider takes 0 to 1: the nearest is sent");
    }
    for (i, tool) in envelope.tools.iter_mut().enumerate() {
        if let Some(why) = tool.make_sendable() {
            note(format!("tools[{i}]"), why);
        }
    }
    let mut names = HashSet::new();
    envelope.tools.retain(|tool| {
        let name = tool.name().map(Cow::into_owned);
        let is_new = name.as_ref().is_none_or(|name| names.insert(name.clone()));
        if !is_new {
            note("tools".to_owned(), "left out: another tool has the same name");
        }
        is_new
    });
    // Without tools, the choice would only forbid parallel calls.
    let has_tools = !envelope.tools.is_empty() || envelope.has_more_tools();
    envelope.tool_choice.take_if(|_| !has_tools);
    let is_object = |format: &mut Format<'_>| wire::kind(format.schema) == "an object";
    if let Some(config) = &mut envelope.output_config
        && config.format.take_if(|format| !is_object(format)).is_some()
    {
        note("output".to_owned(), "left out: its schema is not an object");
        envelope.output_config.take_if(|config| config.extra.0.is_empty());
    }
}
