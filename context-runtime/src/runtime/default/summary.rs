//! The request for a summary as a continuation of the conversation's request, or for a compaction
//! by its provider.

use std::sync::Arc;

use context_core::history::SummaryTask;
use context_core::message::Origin;
use context_core::model::{CacheMarks, TokenCounter, ToolChoice};
use context_core::runtime::ModelContext;
use context_core::{Message, ModelRequest};

use super::count::Counting;
use super::parts::Parts;
use super::prefix;
use crate::runtime::history::CallHistory;

/// The wire forms of providers that compact a conversation on request.
const COMPACTING: [&str; 2] = ["anthropic", "openai-responses"];

/// Returns whether the provider of a call can be asked for a compaction.
pub(super) fn can_ask(parts: &Parts, counting: &Counting, provider: &str) -> bool {
    COMPACTING.contains(&provider) && parts.models.model(&counting.model).compacts()
}

/// Returns the end of what a task covers, if a history still begins with it.
pub(super) fn covered(task: &SummaryTask, history: &CallHistory) -> Option<usize> {
    let (seen, messages) = (task.seen.get(..task.covers.end)?, history.messages());
    let is = |(seen, now): (&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(seen, now) || seen == now;
    let is_same = seen.len() <= messages.len() && seen.iter().zip(messages).all(is);
    is_same.then_some(seen.len())
}

/// Returns the prepared request up to the last message that a task covers, as a request for the
/// compaction that the task asks the provider for. `None` if it asks for none, or the window has no
/// room.
pub(super) fn at_provider(
    context: &ModelContext,
    task: &SummaryTask,
    end: usize,
    counter: &dyn TokenCounter,
) -> Option<ModelRequest> {
    let compaction = task.provider.clone()?;
    let mut request = context.request.clone();
    request.model.as_ref()?;
    request.messages = request.messages.prefix(end);
    let budget = context.budget?;
    let messages = counter.count_messages(&request.messages).tokens();
    let total = context.breakdown.outside().tokens().saturating_add(messages);
    if total.saturating_add(budget.reserve) > budget.window {
        return None;
    }
    // The call for the request that ended here has probably left an entry. A cold cache is not
    // written, because the messages are not sent again.
    let is_warm = context.prefix.reused > 0;
    request.cache = CacheMarks::At(end.checked_sub(1).filter(|_| is_warm).into_iter().collect());
    Some(request.compaction(compaction))
}

/// Returns the prepared request with the task's instruction behind it, if the provider can answer
/// it with a summary and it costs less than the request that quotes the conversation.
///
/// `read` is the price of a token from the provider's cache, relative to an uncached one, and
/// `cached_end` the message after which the cache entry ends. Everything before the instruction is
/// the same as in the conversation's own request, options included, since a provider compares them
/// too.
pub(super) fn continued(
    context: &ModelContext,
    task: &SummaryTask,
    provider: &str,
    (read, cached_end): (f64, Option<usize>),
    counter: &dyn TokenCounter,
) -> Option<ModelRequest> {
    let instruction = Message::from(task.instruction.as_deref()?).with_origin(Origin::Synthetic);
    let budget = context.budget?;
    let mut request = context.request.clone();
    let must_call =
        matches!(request.tool_choice, Some(ToolChoice::Required | ToolChoice::Named(_)));
    // The answer would be a call, or have a schema, and a summary is neither.
    if must_call || request.output.is_some() || request.model.is_none() {
        return None;
    }
    let own_options = request.metadata.iter().any(|(key, _)| key.ends_with(".body"));
    let (reserve, summary) = (budget.reserve, task.request.max_output_tokens);
    // A limit of the output may have to fit to further options, such as those for reasoning.
    let output = summary.filter(|_| !own_options).map_or(reserve, |summary| summary.min(reserve));
    request.max_output_tokens = Some(output);
    let added = counter.count_message(&instruction).tokens();
    let total = context.breakdown.total().tokens().saturating_add(added);
    if total.saturating_add(output) > budget.window {
        return None;
    }
    // A provider that is to be told where entries end reads none without a mark.
    let is_read = !prefix::wants_marks(provider) || cached_end.is_some();
    let reused = if is_read { context.prefix.reused.min(total) } else { 0 };
    let quoted = counter.count_request(&task.request).total().tokens();
    if reused as f64 * read + (total - reused) as f64 > quoted as f64 {
        return None;
    }
    if prefix::wants_marks(provider) {
        // Nothing after the entry that exists is written, because nothing of it is sent again.
        request.cache = cached_end.map_or(CacheMarks::Existing, |end| CacheMarks::At(vec![end]));
    }
    request.messages.push(Arc::new(instruction));
    Some(request)
}
