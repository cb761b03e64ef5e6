//! What a model is sent, in order.

use context_core::{HistoryRules, ModelContext, PrepareInput, Result, Unanswered, normalize};

use super::limit;
use super::parts::Parts;
use super::prompt::Prompt;

/// What a model is to be sent.
pub(super) fn prepare(parts: &Parts, mut input: PrepareInput) -> Result<ModelContext> {
    input.cancel.check("prepare_for_model")?;
    let mut context = ModelContext::default();
    let mut messages = std::mem::take(&mut input.messages);
    let max = input.max_messages.or(parts.max_messages);
    if let Some(kept) = max.and_then(|max| limit::limit(&messages, max)) {
        context.diagnostics.push(kept.diagnostic(messages.len()));
        messages = kept.of(&messages).messages;
    }
    let repaired = normalize(&messages, &HistoryRules::new(), Unanswered::Answer, false);
    context.diagnostics.extend(repaired.diagnostics);
    context.messages = repaired.messages.into_owned();
    let prompt = Prompt::of(&input, parts.environment.then(|| parts.clock.now()));
    context.system_prompt = prompt.joined();
    context.system_prompt_parts = prompt.parts;
    context.tools = input.tools;
    Ok(context)
}
