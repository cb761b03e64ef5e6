//! Preparing a model call, in order: earlier cuts, limit of messages, recall, compaction, repair,
//! prefix.
//!
//! The session is locked twice, without awaiting under the lock. Memories are recalled in between.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use context_core::base::{DiagnosticCode, Severity};
use context_core::history::{Goal, HistoryView, Structure, SummaryTask};
use context_core::memory::RecallQuery;
use context_core::message::MessageHash;
use context_core::model::{Budget, TokenCounter};
use context_core::runtime::{CutOwner, ModelContext, PrepareInput, SummariesAhead};
use context_core::{Diagnostic, Message, Messages, Result};

use tokio::time::Instant;
use tracing::Instrument;

use super::assemble::{self, Call, RequestParts};
use super::clearing::Cleared;
use super::count::{self, Counters, Counting};
use super::parts::{PREPARE, Parts};
use super::prefix::PromptHash;
use super::prompt_cache;
use super::recall::{self, TurnRecall};
use super::repair;
use super::session::{Session, Sessions, lock};
use super::summary;
use crate::observer::{Observer, ProposedCompaction, TurnEvent};
use crate::runtime::history::CallHistory;
use crate::runtime::prompt::Prompt;
use crate::runtime::{HistoryState, history, limit, pipeline};
use crate::trace;

/// A prepared call.
pub(super) struct Prepared {
    pub(super) context: ModelContext,
    /// The positions of messages with media in the request.
    pub(super) with_media: Vec<usize>,
}

/// Prepares a model call.
pub(super) async fn prepare(
    parts: &Parts,
    counters: &Counters,
    sessions: &Sessions,
    mut input: PrepareInput,
) -> Result<Prepared> {
    input.cancel.check(PREPARE)?;
    history::check(PREPARE, &input)?;
    let counting = counters.of(parts, input.request.model.as_deref());
    // Checked before the session is changed and before memories are asked for.
    let (budget, assumed) = count::budget(parts, &input, &counting)?;
    let session = sessions.get(&input.turn.chat);
    let mut diagnostics = Vec::new();
    let (history, query) = {
        let mut session = lock(&session);
        let history = call_history(parts, &mut session, &mut input, &mut diagnostics);
        session.index.update(history.messages(), &counting.model, &*counting.counter);
        let query = wanted(parts, &session, &input, history.messages());
        (history, query)
    };
    if let Some((query, recalled_for)) = query {
        recall(parts, &counting, &session, &input, query, recalled_for, &mut diagnostics).await?;
    }
    let now = parts.clock.now();
    let prompt = Prompt::of(&input, parts.environment.then_some(now));
    let prompt_hash = PromptHash::of(&prompt.parts, &input.request);
    // Last, so that a call that fails does not use up the one report.
    let assumed = assumed.filter(|_| counters.reports_window(&counting.model));
    diagnostics.splice(0..0, assumed);
    let call = Call { parts, counting: &counting, input, prompt, prompt_hash, now };
    Ok(finish(call, budget, &mut lock(&session), history, diagnostics))
}

/// Returns the history with earlier cuts, limited to the maximum number of messages.
fn call_history(
    parts: &Parts,
    session: &mut Session,
    input: &mut PrepareInput,
    diagnostics: &mut Vec<Diagnostic>,
) -> CallHistory {
    let takes_over = input.rewrite.is_some() && input.cuts == CutOwner::Runtime;
    let mut history = session.cuts.history(input);
    if let Some(rewrite) = history.rewrite().filter(|_| takes_over) {
        let covered = session.fingerprint(history.given());
        session.cuts.take_over(rewrite, covered);
    }
    if Structure::is_sealed_for(history.messages(), &input.provider) {
        diagnostics.push(Diagnostic::new(
            DiagnosticCode::CompactionSealed,
            Severity::Warning,
            "messages",
            "the beginning of the conversation was compacted by another provider, and this one cannot read it: undo the compaction",
        ));
    }
    let max = input.limits.max_messages.or(parts.max_messages);
    if let Some(retained) = max.and_then(|max| limit::limit(history.messages(), max)) {
        diagnostics.push(retained.diagnostic(history.messages().len()));
        history.cut(retained.of(history.messages()));
        history.is_limited = true;
    }
    history
}

/// Returns the recall query and its request. `None` if this turn has its recall already.
fn wanted(
    parts: &Parts,
    session: &Session,
    input: &PrepareInput,
    messages: &Messages,
) -> Option<(RecallQuery, MessageHash)> {
    if parts.memory.is_none() && !parts.expects_recall {
        return None;
    }
    let request = messages.get(session.index.newest_request()?)?.hash();
    if session.recalls.get(&input.turn.id, &request).is_some() {
        return None;
    }
    let scope = parts.memory_scope(&input.turn.chat, input.environment.cwd.as_deref());
    let mut query = recall::query(scope, messages, session.index.requests(), parts.recall_tokens)?;
    query.at = Some(parts.clock.now());
    Some((query, request))
}

async fn recall(
    parts: &Parts,
    counting: &Counting,
    session: &Mutex<Session>,
    input: &PrepareInput,
    query: RecallQuery,
    request: MessageHash,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<()> {
    let recalling = recall::recall(parts, &query, &input.turn, &input.cancel, &*counting.counter);
    let began = Instant::now();
    let (message, reports) = recalling.instrument(trace::recall(&input.turn.chat)).await?;
    if !parts.observers.is_empty() {
        let count = |message: &Arc<Message>| counting.counter.count_message(message).tokens();
        let (tokens, elapsed) = (message.as_ref().map_or(0, count), began.elapsed());
        parts.observers.on_event(&input.turn, &TurnEvent::Recalled { tokens, elapsed });
    }
    diagnostics.extend(reports);
    let recall = TurnRecall { turn: input.turn.id.clone(), request, message };
    lock(session).recalls.insert(recall);
    Ok(())
}

/// Finishes the call. Nothing is awaited here.
fn finish(
    call: Call<'_>,
    budget: Budget,
    session: &mut Session,
    mut history: CallHistory,
    mut diagnostics: Vec<Diagnostic>,
) -> Prepared {
    let Call { parts, counting, ref input, .. } = call;
    let counter = &*counting.counter;
    // Another call of the session may have changed the index in between.
    session.index.update(history.messages(), &counting.model, counter);
    let request = session.index.newest_request().and_then(|at| history.messages().get(at));
    let request = request.map(|request| request.hash());
    let recalled = call.recalled(session, request);
    let static_tokens = call.static_tokens(session);
    let breakdown = assemble::breakdown(&call, &static_tokens, recalled.as_ref());
    // What a repair adds must fit as well. After a cut there is less to repair.
    let mut repaired = repair::repair(&mut session.index, history.messages().clone());
    let added = repaired.added(&session.index, history.messages(), counter);
    let added = counting.calibration.apply(added).tokens();
    let outside = breakdown.outside().tokens().saturating_add(added);
    let outside = outside.saturating_add_signed(call.reported_excess(session));
    let mut cleared = clear(&call, session, history.messages(), outside);
    let warm = call.warm(session, recalled.as_ref());
    let shared = call.shared_tokens(session, static_tokens.front(), recalled.as_ref());

    session.cuts.requested(&input.turn.id, request);
    let mut context = ModelContext::default();
    let total = counting.calibration.apply(session.index.tokens(session.index.len())).tokens();
    let tokens = outside.saturating_add(total.saturating_sub(cleared.total));
    diagnostics.extend(prompt_cache::expired(&call, session, shared));
    let lifetime = prompt_cache::choose(&call, session, (shared, tokens), &mut diagnostics);
    let mut goal = Goal::new(budget, outside, budget.input());
    goal.cache = count::cache(parts, counting, warm, lifetime.write);
    (goal.cache.idle, goal.cache.expires_in) = (call.idle(session), call.expires_in(session));
    let focus = session.cuts.requested.take();
    let now = state(&call, session, &goal, &cleared);
    let can_wait = input.ahead == SummariesAhead::Running && now.share < pipeline::NEEDED;
    if focus.is_some() || (parts.pipeline.is_due(&now) && !can_wait) {
        if focus.is_none() && session.cuts.is_stopped() {
            diagnostics.push(Diagnostic::new(
                DiagnosticCode::CompactionStopped,
                Severity::Warning,
                "messages",
                "compaction freed little several times in a row and pauses until the next request of the user",
            ));
        } else {
            goal.focus = focus;
            let so_far = (&goal, &cleared);
            compact(&call, session, &mut history, so_far, &mut context, &mut diagnostics);
            repaired = repair::repair(&mut session.index, history.messages().clone());
            cleared = clear(&call, session, history.messages(), outside);
        }
    }
    let is_planned = goal.focus.is_some() || context.summary.is_some();
    if input.ahead == SummariesAhead::Wanted && !is_planned {
        context.summary = ask_ahead(&call, session, &history, (&goal, &cleared));
    }
    if std::mem::take(&mut session.cuts.failed) {
        diagnostics.push(Diagnostic::new(
            DiagnosticCode::CompactSummaryFailed,
            Severity::Warning,
            "messages",
            "a summary failed or was rejected; the history was not changed, and no summary is requested for a while",
        ));
    }

    if let Some(missing) = session.cuts.weak.take() {
        diagnostics.push(Diagnostic::new(
            DiagnosticCode::CompactSummaryStructureWeak,
            Severity::Warning,
            "messages",
            format!("the summary was accepted although it lacks {missing}"),
        ));
    }
    if let Some((left, wanted)) = session.cuts.missed.take() {
        diagnostics.push(pipeline::target_not_reached(left, wanted));
    }

    let cut = history.is_limited || std::mem::take(&mut session.cuts.fresh);
    let is_compacted = history.is_compacted;
    let covered = context.summary.as_deref().and_then(|task| summary::covered(task, &history));
    let (_, rewrite) = history.into_parts();
    context.boundaries =
        rewrite.as_ref().map(|rewrite| rewrite.boundaries.clone()).unwrap_or_default();
    context.rewrite = rewrite.filter(|_| is_compacted);
    let covered = covered.map(|end| repaired.end(end));
    diagnostics.extend(repaired.diagnostics.iter().cloned());
    context.diagnostics = diagnostics;
    let request_parts = RequestParts {
        repaired,
        recall: recalled,
        static_tokens,
        breakdown,
        budget,
        lifetime,
        cut,
        cleared,
    };
    let provider = call.input.provider.clone();
    let asks_provider = summary::can_ask(call.parts, counting, &call.input.provider);
    let sent = assemble::messages(call, session, request_parts, &mut context);
    // After a failure the conversation is quoted: the model may not have written a summary in its
    // midst. What only its provider reads cannot be quoted.
    let may_continue =
        |task: &mut Box<SummaryTask>| !session.cuts.has_failed() || task.needs_provider();
    if let Some(mut task) = context.summary.take_if(may_continue) {
        let (cached, counter) = ((goal.cache.read, sent.cached_end), counting.calibrated());
        let covered = covered.filter(|_| asks_provider);
        let covered = covered.map(|end| end + usize::from(sent.recall.is_some_and(|at| at < end)));
        let at_provider =
            covered.and_then(|end| summary::at_provider(&context, &task, end, &counter));
        task.continued = at_provider
            .or_else(|| summary::continued(&context, &task, &provider, cached, &counter))
            .map(Box::new);
        context.summary = Some(task);
    }
    Prepared { context, with_media: sent.with_media }
}

/// Returns what the provider clears of a request with this history and so many tokens outside of
/// it.
fn clear(call: &Call<'_>, session: &mut Session, messages: &Messages, outside: u64) -> Cleared {
    let Some(clearing) = &call.parts.clearing else { return Cleared::default() };
    let calibration = call.counting.calibration;
    let history = calibration.apply(session.index.tokens(session.index.len())).tokens();
    let count = |at| calibration.scale(session.index.count(at)).tokens();
    let total = outside.saturating_add(history);
    let cleared = clearing.of(&call.input.provider, messages, total, count);
    let before = session.sent.as_ref().map_or(0, |sent| sent.cleared_end);
    session.newly_cleared = cleared.first_from(before);
    cleared
}

/// Returns the state that triggers are asked about.
fn state(call: &Call<'_>, session: &Session, goal: &Goal, cleared: &Cleared) -> HistoryState {
    let history = session.index.tokens(session.index.len());
    let tokens = call.counting.calibration.apply(history).tokens();
    let tokens = tokens.saturating_sub(cleared.total);
    let tokens = goal.outside.saturating_add(tokens);
    let mut state = HistoryState::of_share(goal.budget.ratio(tokens));
    (state.tokens, state.messages) = (tokens, session.index.len());
    (state.turns, state.idle) = (session.index.requests().len(), goal.cache.idle);
    (state.expires_in, state.is_cold) = (goal.cache.expires_in, goal.cache.is_cold());
    state
}

/// Returns the view of a history that policies are shown.
fn view<'v>(
    call: &Call<'_>,
    session: &Session,
    messages: &'v [Arc<Message>],
    (goal, cleared): (&Goal, &Cleared),
    counter: &'v dyn TokenCounter,
) -> HistoryView<'v> {
    let calibration = call.counting.calibration;
    let counts = session.index.counts().map(|count| calibration.scale(count).tokens());
    let counts = counts.enumerate();
    let counts = counts.map(|(at, tokens)| tokens.saturating_sub(cleared.of_message(at)));
    let words = (goal.limit() as f64 * call.parts.user_words) as u64;
    HistoryView::counted(messages, counts, counter).user_words(words)
}

/// Returns a summary that is requested before it is needed.
fn ask_ahead(
    call: &Call<'_>,
    session: &mut Session,
    history: &CallHistory,
    (goal, cleared): (&Goal, &Cleared),
) -> Option<Box<SummaryTask>> {
    let Call { parts, ref input, .. } = *call;
    let is_due = parts.pipeline.is_due_ahead(&state(call, session, goal, cleared));
    let may_ask = session.cuts.may_ask(call.now) && !session.cuts.refused_ahead;
    if !is_due || !may_ask || session.cuts.is_stopped() {
        return None;
    }
    let counter = call.counting.calibrated();
    let view = view(call, session, history.messages(), (goal, cleared), &counter);
    let ask = |proposed: &ProposedCompaction<'_>| {
        parts.observers.before_compaction(&input.turn, proposed)
    };
    let Some(summary) = parts.pipeline.ahead(&view, goal, &ask) else {
        session.cuts.refused_ahead = true;
        return None;
    };
    let covered = session.fingerprint(history.given());
    session.cuts.ask(history, covered, &summary, input.cuts);
    Some(summary.task)
}

/// Runs the stages and carries out their plans.
fn compact(
    call: &Call<'_>,
    session: &mut Session,
    history: &mut CallHistory,
    (goal, cleared): (&Goal, &Cleared),
    context: &mut ModelContext,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Call { parts, counting, ref input, .. } = *call;
    let _span = trace::compact(&input.turn.chat).entered();
    let counter = counting.calibrated();
    let view = view(call, session, history.messages(), (goal, cleared), &counter);
    let before = view.total();
    let ask = |proposed: &ProposedCompaction<'_>| {
        parts.observers.before_compaction(&input.turn, proposed)
    };
    let pipeline = match goal.focus {
        Some(_) => Cow::Owned(parts.pipeline.requested()),
        None => Cow::Borrowed(&parts.pipeline),
    };
    let planned = pipeline.run_with(&view, goal, session.cuts.may_ask(call.now), &ask);
    context.plans = planned.steps.iter().map(|step| step.report()).collect();
    diagnostics.extend(planned.diagnostics);
    let is_asked = planned.summary.is_some();
    if let Some(summary) = planned.summary {
        let covered = session.fingerprint(history.given());
        session.cuts.ask(history, covered, &summary, input.cuts);
        context.summary = Some(summary.task);
    }
    let Some(rewrite) = planned.rewrite else { return };
    let descriptions: Vec<_> = planned
        .steps
        .iter()
        .filter(|step| step.applied)
        .map(|step| step.plan.description.as_str())
        .collect();
    diagnostics.push(Diagnostic::new(
        DiagnosticCode::Compacted,
        Severity::Info,
        "messages",
        format!("{before} tokens became {}: {}", planned.after, descriptions.join("; ")),
    ));
    if !is_asked {
        // A summary that was requested before is of a history that is no longer there.
        session.cuts.pending = None;
    }
    history.cut(rewrite);
    history.is_compacted = true;
    if let Some(rewrite) = history.rewrite() {
        let covered = session.fingerprint(history.given());
        session.cuts.keep(rewrite, covered, input.cuts);
    }
    session.cuts.count(before, planned.after);
    session.index.update(history.messages(), &counting.model, &*counting.counter);
}
