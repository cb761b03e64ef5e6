//! Streamed answers. A whole answer is read as if its steps arrived one after the other.

use std::collections::{BTreeMap, HashSet};

use context_codec_kit::wire;
use context_codec_kit::wire::LossyText;
use context_core::base::{DiagnosticCode, Severity};
use context_core::model::{AnswerDelta, AnswerStream, ModelCodec, StopReason, Usage, WireError};
use context_core::{Answer, Diagnostic, Json, Message, ModelError, Part, Role};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::steps::Step;
use crate::generate::GenerateCodec;

/// The state of an interaction.
#[derive(Debug, Default)]
pub(super) struct InteractionStream {
    steps: BTreeMap<usize, Step>,
    id: Option<String>,
    model: Option<String>,
    status: Option<String>,
    usage: Option<UsageForm>,
    error: Option<ModelError>,
    is_over: bool,
}

#[derive(Deserialize)]
struct Interaction<'a> {
    id: Option<LossyText>,
    model: Option<LossyText>,
    status: Option<LossyText>,
    usage: Option<UsageForm>,
    #[serde(borrow)]
    steps: Option<Vec<&'a RawValue>>,
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Event<'a> {
    event_type: Option<LossyText>,
    #[serde(borrow)]
    interaction: Option<&'a RawValue>,
    index: Option<usize>,
    step: Option<&'a RawValue>,
    delta: Option<&'a RawValue>,
    status: Option<LossyText>,
    error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageForm {
    total_input_tokens: Option<u64>,
    total_cached_tokens: Option<u64>,
    total_output_tokens: Option<u64>,
    total_tool_use_tokens: Option<u64>,
    total_thought_tokens: Option<u64>,
}

impl InteractionStream {
    /// Adds a whole answer.
    pub(super) fn push_answer(&mut self, body: &Json) -> Result<(), WireError> {
        if wire::kind(body) != "an object" {
            return Err(wire::wrong_type(body, "", "an object"));
        }
        self.interaction(body.as_str(), "")?;
        self.is_over = self.error.is_none() && self.status.as_deref() != Some("in_progress");
        Ok(())
    }

    fn interaction(&mut self, json: &str, path: &str) -> Result<(), WireError> {
        let interaction: Interaction<'_> = wire::read(json, path)?;
        // Everything is read before anything changes. A stream has already sent the steps; repeated
        // at its end, they are the same.
        let mut steps = Vec::new();
        for (i, step) in interaction.steps.into_iter().flatten().enumerate() {
            if !self.steps.contains_key(&i) {
                let mut step = Step::begin(step.get(), &format!("steps[{i}]"), &mut Vec::new())?;
                step.is_over = true;
                steps.push((i, step));
            }
        }
        self.steps.extend(steps);
        self.id = interaction.id.map(|id| id.0).or(self.id.take());
        self.model = interaction.model.map(|model| model.0).or(self.model.take());
        self.status = interaction.status.map(|status| status.0).or(self.status.take());
        self.usage = interaction.usage.or(self.usage.take());
        if interaction.error.is_some() {
            self.error = Some(GenerateCodec.lift_error(None, json));
        }
        Ok(())
    }

    fn event(&mut self, json: &str, deltas: &mut Vec<AnswerDelta>) -> Result<(), WireError> {
        let event: Event<'_> = wire::read(json, "")?;
        let missing = |key: &str| WireError::Missing { path: key.to_owned() };
        match event.event_type.as_ref().map(|kind| kind.0.as_str()) {
            Some("step.start") => {
                let index = event.index.ok_or_else(|| missing("index"))?;
                let step = event.step.ok_or_else(|| missing("step"))?;
                self.steps.insert(index, Step::begin(step.get(), "step", deltas)?);
            }
            Some("step.delta") => {
                let index = event.index.ok_or_else(|| missing("index"))?;
                if let (Some(step), Some(delta)) = (self.steps.get_mut(&index), event.delta) {
                    step.add(delta, "delta", deltas)?;
                }
            }
            Some("step.stop") => {
                if let Some(step) = event.index.and_then(|index| self.steps.get_mut(&index)) {
                    step.is_over = true;
                }
            }
            Some("error") => self.error = Some(GenerateCodec.lift_error(None, json)),
            kind => {
                if let Some(interaction) = event.interaction {
                    self.interaction(interaction.get(), "interaction")?;
                }
                if let Some(status) = event.status {
                    self.status = Some(status.0);
                }
                self.is_over = kind == Some("interaction.completed");
                if event.error.is_some() {
                    self.error = Some(GenerateCodec.lift_error(None, json));
                }
            }
        }
        Ok(())
    }

    /// Returns the parts, and how many steps are left out because they are not whole.
    fn parts(&self) -> (Vec<Part>, usize) {
        let answered: HashSet<&str> =
            self.steps.values().filter_map(|step| step.server_ids().1).collect();
        let (mut parts, mut cut) = (Vec::new(), 0);
        for step in self.steps.values() {
            let is_open = step.server_ids().0.is_some_and(|id| !answered.contains(id));
            match step.parts().filter(|_| self.is_over || !is_open) {
                Some(mut more) => parts.append(&mut more),
                None => cut += 1,
            }
        }
        (parts, cut)
    }
}

impl AnswerStream for InteractionStream {
    fn push(&mut self, event: &str) -> Result<Vec<AnswerDelta>, WireError> {
        let (event, mut deltas) = (event.trim(), Vec::new());
        if !(self.is_over || self.error.is_some() || event.is_empty() || event == "[DONE]") {
            self.event(event, &mut deltas)?;
        }
        Ok(deltas)
    }

    fn answer(&self) -> Answer {
        let (parts, cut) = self.parts();
        let mut answer = Answer::new(Message::new(Role::Assistant, parts));
        answer.complete = self.is_over && self.error.is_none();
        if !answer.complete && self.error.is_none() || cut > 0 {
            let reason = format!("the answer broke off: {cut} incomplete steps are left out");
            let (code, severity) = (DiagnosticCode::CutOff, Severity::Warning);
            answer.diagnostics.push(Diagnostic::new(code, severity, "", reason));
        }
        let has_calls = self.steps.values().any(Step::is_call);
        answer.stop = self.status.as_deref().filter(|_| self.is_over).map(|status| match status {
            "completed" if has_calls => StopReason::ToolCalls,
            "completed" => StopReason::Stop,
            "requires_action" => StopReason::ToolCalls,
            other => StopReason::Other(other.to_owned()),
        });
        answer.usage = self.usage.as_ref().map(UsageForm::usage);
        answer.model.clone_from(&self.model);
        answer.id.clone_from(&self.id);
        answer.error.clone_from(&self.error);
        answer
    }
}

impl UsageForm {
    fn usage(&self) -> Usage {
        let of = |count: Option<u64>| count.unwrap_or_default();
        let cached = of(self.total_cached_tokens);
        let mut usage = Usage::default();
        usage.input = of(self.total_input_tokens)
            .saturating_sub(cached)
            .saturating_add(of(self.total_tool_use_tokens));
        usage.output = of(self.total_output_tokens).saturating_add(of(self.total_thought_tokens));
        usage.cache_read = cached;
        usage.reasoning = self.total_thought_tokens;
        usage
    }
}
