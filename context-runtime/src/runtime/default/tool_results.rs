//! Applying tool results: a result that is too large is stored as a blob and replaced by a preview.
//!
//! A result is measured by itself and together with the others of its message. Media are measured
//! in bytes. Results below the limits keep their allocation. The history is not read here; a
//! compaction policy decides about old results.

mod choice;
mod texts;

use context_core::message::Origin;
use std::borrow::Cow;
use std::sync::Arc;

use context_core::base::{DiagnosticCode, Severity};
use context_core::history::shorten;
use context_core::model::TokenCounter;
use context_core::runtime::{ToolResultInput, ToolResultOutput, TurnRef};
use context_core::{CancelSignal, Diagnostic, Error, Message, Part, Result, Role};

use super::media;
use super::parts::Parts;
use super::spill::{LONGEST_REFERENCE, Preview, READ_SPILLED, Spill, Spilled};
use crate::cancellable::unless_cancelled;
use crate::observer::{Observer, Observers, TurnEvent};
use crate::tool_output::joined;
use choice::{Choice, MeasuredText, choose};

const OPERATION: &str = "apply_tool_results";

/// The size limits above which tool results are spilled.
///
/// ```
/// use context_runtime::ToolResultLimits;
///
/// let small = ToolResultLimits::new().tokens(2_000).preview_bytes(3_000);
/// assert_eq!(small.message_tokens, 40_000);
/// ```
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolResultLimits {
    /// The maximum tokens of one result. Default: 10,000.
    pub tokens: u64,
    /// The maximum bytes of text of one result. Default: 200,000.
    pub bytes: usize,
    /// The maximum tokens of all results of one message together. The largest results are replaced
    /// first until the limit is met. If that is not enough, previews become shorter. Default:
    /// 40,000.
    pub message_tokens: u64,
    /// The maximum bytes of a preview, its note included. Default: 12,000.
    pub preview_bytes: usize,
    /// The maximum bytes of media that stay in their message. Default: 150,000.
    pub media_bytes: usize,
    /// The tool that previews name for reading the rest. Default: [`READ_SPILLED`]. Set it to
    /// `None` if the model is not offered [that tool](super::spilled_output_tool).
    pub reading_tool: Option<Cow<'static, str>>,
}

impl Default for ToolResultLimits {
    fn default() -> Self {
        Self {
            tokens: 10_000,
            bytes: 200_000,
            message_tokens: 40_000,
            preview_bytes: 12_000,
            media_bytes: 150_000,
            reading_tool: Some(Cow::Borrowed(READ_SPILLED)),
        }
    }
}

impl ToolResultLimits {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum tokens of one result.
    pub fn tokens(mut self, tokens: u64) -> Self {
        self.tokens = tokens;
        self
    }

    /// Sets the maximum bytes of text of one result.
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets the maximum tokens of all results of one message.
    pub fn message_tokens(mut self, tokens: u64) -> Self {
        self.message_tokens = tokens;
        self
    }

    /// Sets the maximum bytes of a preview.
    pub fn preview_bytes(mut self, bytes: usize) -> Self {
        self.preview_bytes = bytes;
        self
    }

    /// Sets the maximum bytes of media that stay in their message.
    pub fn media_bytes(mut self, bytes: usize) -> Self {
        self.media_bytes = bytes;
        self
    }

    /// Sets the tool that previews name for reading the rest.
    pub fn reading_tool(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.reading_tool = Some(name.into());
        self
    }

    /// Makes previews name no tool, for models that are not offered one.
    pub fn no_reading_tool(mut self) -> Self {
        self.reading_tool = None;
        self
    }
}

/// Appends results to a conversation.
pub(super) async fn apply(parts: &Parts, input: ToolResultInput) -> Result<ToolResultOutput> {
    let model = parts.models.model(parts.model.as_deref().unwrap_or_default());
    let of_model;
    let counter = match &parts.counter {
        Some(counter) => &**counter,
        None => {
            of_model = model.counter();
            &of_model
        }
    };
    // A reserve that leaves no room is reported when a request is prepared.
    let budget = model.budget(parts.window, parts.reserve).ok();
    let spill = parts.spill();
    let results = ToolResults {
        limits: &parts.tool_results,
        spill: spill.as_ref(),
        counter,
        window: budget.map(|budget| budget.input()),
        observers: &parts.observers,
    };
    results.apply(input).await
}

/// The configuration with which results are applied.
#[derive(Clone, Copy, Debug)]
struct ToolResults<'a> {
    limits: &'a ToolResultLimits,
    /// The spill for large outputs. Without it nothing is spilled.
    spill: Option<&'a Spill>,
    counter: &'a dyn TokenCounter,
    /// The tokens of input that fit the model, if known.
    window: Option<u64>,
    observers: &'a Observers,
}

impl ToolResults<'_> {
    /// Returns the history with the results and supplements appended.
    async fn apply(&self, input: ToolResultInput) -> Result<ToolResultOutput> {
        let cancel = &input.cancel;
        cancel.check(OPERATION)?;
        let mut output = ToolResultOutput::default();
        let mut results = input.tool_result_message;
        texts::fill_empty(&mut results);
        let turn = &input.turn;
        if let Some(spill) = self.spill {
            let kept = SpillTarget { spill, turn, cancel, observers: self.observers };
            self.spill_media(&kept, &mut results, &mut output.diagnostics).await?;
            self.spill_texts(&kept, &mut results, &mut output.diagnostics).await?;
        }
        self.cut_to_window(&mut results, &mut output.diagnostics);
        output.appended.push(Arc::new(results));
        for mut supplement in input.supplements {
            if let Some(spill) = self.spill {
                let kept = SpillTarget { spill, turn, cancel, observers: self.observers };
                self.spill_media(&kept, &mut supplement, &mut output.diagnostics).await?;
            }
            // Images that a tool made are not a user request.
            if supplement.role == Role::User && !supplement.is_synthetic() {
                supplement = supplement.with_origin(Origin::Synthetic);
            }
            output.appended.push(Arc::new(supplement));
        }
        output.messages = input.messages;
        output.messages.extend(output.appended.iter().map(Arc::clone));
        Ok(output)
    }

    async fn spill_media(
        &self,
        kept: &SpillTarget<'_>,
        message: &mut Message,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<()> {
        for (path, media) in media::inline_above(message, self.limits.media_bytes) {
            let Some(bytes) = media::bytes(media) else { continue };
            let media_type = media.media_type.as_deref().unwrap_or("application/octet-stream");
            match kept.put(bytes, media_type, "media_too_large").await? {
                PutOutcome::Stored(spilled) => {
                    diagnostics.push(spilled_at(path, &spilled));
                    media::refer(media, &spilled);
                }
                PutOutcome::Failed(error) => diagnostics.push(not_stored(path, &error)),
            }
        }
        Ok(())
    }

    async fn spill_texts(
        &self,
        kept: &SpillTarget<'_>,
        message: &mut Message,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<()> {
        let limits = choice::Limits {
            tokens: self.limits.tokens,
            bytes: self.limits.bytes,
            together: self.limits.message_tokens,
            preview: self.limits.preview_bytes,
        };
        for Choice { part, preview, alone } in
            self.choose(message, &limits, Some(LONGEST_REFERENCE))
        {
            let Some(Part::ToolResult(result)) = message.parts.get_mut(part) else { continue };
            let Some(text) = joined(&result.output) else { continue };
            let reason = if alone { "tool_result_too_large" } else { "tool_results_too_large" };
            match kept.put(text.as_bytes().to_vec(), texts::media_type(&text), reason).await? {
                PutOutcome::Stored(spilled) => {
                    diagnostics.push(spilled_at(&result.call_id, &spilled));
                    let reference = spilled.blob.to_reference();
                    let shown = self.preview(&text, Some(&reference)).within(preview);
                    texts::replace(&mut result.output, shown);
                    spilled.note_in(&mut result.metadata);
                }
                PutOutcome::Failed(error) => diagnostics.push(not_stored(&result.call_id, &error)),
            }
        }
        Ok(())
    }

    /// Shortens results that do not fit the model even alone and could not be stored.
    fn cut_to_window(&self, message: &mut Message, diagnostics: &mut Vec<Diagnostic>) {
        let Some(window) = self.window else { return };
        if self.counter.count_message(message).tokens() <= window {
            return;
        }
        let together = self.limits.message_tokens.min(window / 2);
        let preview = self.limits.preview_bytes;
        let limits = choice::Limits { tokens: u64::MAX, bytes: usize::MAX, together, preview };
        for Choice { part, preview, .. } in self.choose(message, &limits, None) {
            let Some(Part::ToolResult(result)) = message.parts.get_mut(part) else { continue };
            let Some(text) = joined(&result.output) else { continue };
            let shown = self.preview(&text, None).within(preview);
            diagnostics.push(Diagnostic::new(
                DiagnosticCode::OverLimit,
                Severity::Warning,
                beginning(&result.call_id),
                format!(
                    "a result of {} bytes does not fit the window and was cut to {}",
                    text.len(),
                    shown.len()
                ),
            ));
            texts::replace(&mut result.output, shown);
        }
    }

    fn preview<'t>(&'t self, text: &'t str, reference: Option<&'t str>) -> Preview<'t> {
        Preview { text, reference, tool: self.limits.reading_tool.as_deref() }
    }

    /// Chooses which results of a message are replaced by previews, and of how many bytes.
    fn choose(
        &self,
        message: &Message,
        limits: &choice::Limits,
        reference: Option<&str>,
    ) -> Vec<Choice> {
        let mut measured = Vec::with_capacity(message.parts.len());
        let mut other = 0_u64;
        for (part, result) in message.parts.iter().enumerate() {
            let tokens = self.counter.count_part(result).tokens();
            let Part::ToolResult(result) = result else {
                other = other.saturating_add(tokens);
                continue;
            };
            // A preview is not spilled again.
            let text = joined(&result.output).filter(|_| Spilled::of(&result.metadata).is_none());
            let Some(text) = text else {
                other = other.saturating_add(tokens);
                continue;
            };
            let of_text = self.counter.count(&text).tokens();
            other = other.saturating_add(tokens.saturating_sub(of_text));
            measured.push(MeasuredText { part, tokens: of_text, text });
        }
        let preview_tokens = |text: &str, bytes| {
            let shown = self.preview(text, reference).within(bytes);
            (self.counter.count(&shown).tokens(), shown.len())
        };
        choose(&measured, other, limits, &preview_tokens)
    }
}

/// The destination of outputs that are too large.
struct SpillTarget<'a> {
    spill: &'a Spill,
    turn: &'a TurnRef,
    cancel: &'a CancelSignal,
    observers: &'a Observers,
}

/// The outcome of storing an output.
enum PutOutcome {
    Stored(Spilled),
    Failed(Error),
}

impl SpillTarget<'_> {
    /// Stores bytes. Fails only if the call is cancelled.
    async fn put(&self, bytes: Vec<u8>, media_type: &str, reason: &str) -> Result<PutOutcome> {
        let put = self.spill.put(&self.turn.chat, bytes, media_type);
        Ok(match unless_cancelled(self.cancel, OPERATION, put).await? {
            Ok(blob) => {
                let spilled = TurnEvent::Spilled { blob: &blob.id, bytes: blob.bytes, reason };
                self.observers.on_event(self.turn, &spilled);
                PutOutcome::Stored(Spilled::new(&blob, reason))
            }
            Err(error) => PutOutcome::Failed(error),
        })
    }
}

fn spilled_at(path: &str, spilled: &Spilled) -> Diagnostic {
    Diagnostic::new(
        DiagnosticCode::ToolResultSpilled,
        Severity::Info,
        beginning(path),
        format!("{} bytes are kept as {}", spilled.bytes, spilled.blob.to_reference()),
    )
}

fn not_stored(path: &str, error: &Error) -> Diagnostic {
    Diagnostic::new(
        DiagnosticCode::ToolResultPersistenceFailed,
        Severity::Error,
        beginning(path),
        format!("too large, and could not be kept elsewhere: {error}"),
    )
}

/// Returns the part of a call id that a diagnostic shows.
fn beginning(id: &str) -> &str {
    shorten::ends(id, 100, 0).map_or(id, |(head, _)| head)
}
