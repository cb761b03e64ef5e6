//! The calls of a turn: preparing them, and taking their answers over.

use std::pin::pin;
use std::sync::Arc;

use context_core::base::{DiagnosticCode, Severity};
use context_core::model::{AnswerDelta, LanguageModel};
use context_core::runtime::ModelContext;
use context_core::trajectory::{Measures, MessageLink};
use context_core::{ContextRuntime, Diagnostic, Fragment, MessageId, Timestamp};
use futures_util::future::{Either, select};
use tokio::sync::mpsc;

use super::results::{NOT_RUN, Unanswered};
use super::{Asked, Called, Phase, Turn, cancelled_by_reader};
use crate::agents::TurnError;
use crate::agents::recorder::AnswerRecord;
use crate::{CallError, ModelCall};

/// Takes each delta as it arrives.
pub(in crate::agents) type Listener<'l> = dyn FnMut(&AnswerDelta) + Send + 'l;

impl Turn<'_> {
    /// Returns the next request before it is written in the provider's form. An error ends the
    /// turn.
    pub(in crate::agents) async fn prepared(
        &mut self,
    ) -> Result<Option<Arc<ModelContext>>, TurnError> {
        match self.try_prepared().await {
            Ok(context) => Ok(context),
            Err(error) => Err(self.fail(error).await),
        }
    }

    async fn try_prepared(&mut self) -> Result<Option<Arc<ModelContext>>, TurnError> {
        loop {
            if matches!(self.phase, Phase::Answered | Phase::Ended) {
                return Ok(None);
            }
            self.settings.cancel.check("turn")?;
            match &mut self.phase {
                Phase::Answered | Phase::Ended => return Ok(None),
                Phase::Ready => self.begin_call().await?,
                Phase::Called(_) => self.give_results(Unanswered::SayNotRun).await?,
                Phase::Asked(asked) => match asked.call.prepared().await? {
                    Some(context) => {
                        asked.started_at = self.parts.clock.now();
                        let context = Arc::new(context);
                        self.context = Some(Arc::clone(&context));
                        return Ok(Some(context));
                    }
                    None => self.accept().await?,
                },
            }
        }
    }

    async fn begin_call(&mut self) -> Result<(), TurnError> {
        let limits = self.settings.limits;
        let limit = |limit, most: u64| Err(TurnError::Limit { limit, most });
        if self.report.steps > limits.steps {
            return limit("steps", limits.steps.into());
        }
        let left = limits.calls.saturating_sub(self.report.calls);
        if left == 0 {
            return limit("calls", limits.calls.into());
        }
        if self.remaining().is_zero() {
            return limit("seconds", limits.time.as_secs());
        }
        let mut resolved = self.engine.resolve().await?;
        while resolved.is_sealed_for(self.parts.codec.name())
            && self.engine.undo_compaction().await?.is_some()
        {
            self.report.diagnostics.push(Diagnostic::new(
                DiagnosticCode::CompactionSealed,
                Severity::Info,
                "history",
                "a compaction that only another provider can read was undone",
            ));
            resolved = self.engine.resolve().await?;
        }
        if self.began_with.is_none() && self.parts.runtime.captures_turns() {
            self.began_with = Some(resolved.clone());
        }
        let mut input = resolved
            .prepare()
            .tools(self.settings.tools.iter().cloned())
            .cancel(self.settings.cancel.clone());
        if let Some(tokens) = self.settings.max_output {
            input = input.max_output_tokens(tokens);
        }
        if let Some(change) = &mut self.settings.prepare {
            input = change(input);
        }
        let mut options = self.settings.calls;
        options.max_calls = options.max_calls.min(left);
        let codec = Arc::clone(&self.parts.codec);
        let mut call = ModelCall::new(&self.parts.runtime, codec, input)
            .options(options)
            .observer(self.parts.runtime.observer());
        if let Some(model) = &self.parts.summaries {
            call = call.summaries(Arc::clone(model));
        }
        // A summary ahead belongs to the chat, and so to the parent of a fork.
        let ahead = self.parts.ahead.as_ref().filter(|_| !self.settings.is_fork);
        if let Some(ahead) = ahead {
            call = call.summaries_ahead(ahead.clone());
        }
        if let Some(chain) = &self.parts.recovery {
            call = call.recovery(chain.clone());
        }
        let started_at = self.parts.clock.now();
        self.phase = Phase::Asked(Box::new(Asked { resolved, call, started_at, ended_at: None }));
        Ok(())
    }

    /// Sends the prepared request to a model, and takes its reply. With a listener the answer is
    /// streamed.
    pub(in crate::agents) async fn ask(
        &mut self,
        model: &dyn LanguageModel,
        context: &ModelContext,
        listener: Option<&mut Listener<'_>>,
    ) -> Result<(), TurnError> {
        let left = self.remaining();
        let asking = self.try_ask(model, context, listener);
        let asked = match tokio::time::timeout(left, asking).await {
            Ok(asked) => asked,
            Err(_) => {
                let most = self.settings.limits.time.as_secs();
                Err(TurnError::Limit { limit: "seconds", most })
            }
        };
        let now = self.parts.clock.now();
        if let Phase::Asked(asked) = &mut self.phase {
            asked.ended_at = Some(now);
        }
        match asked {
            Ok(()) => Ok(()),
            Err(error) => Err(self.fail(error).await),
        }
    }

    async fn try_ask(
        &mut self,
        model: &dyn LanguageModel,
        context: &ModelContext,
        listener: Option<&mut Listener<'_>>,
    ) -> Result<(), TurnError> {
        let Phase::Asked(asked) = &mut self.phase else { return Ok(()) };
        let Some(listener) = listener else {
            return Ok(asked.call.ask(model, context, None).await?);
        };
        let deltas = &mut self.deltas;
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let mut show = move |delta: AnswerDelta| {
            // The receiver outlives the call.
            let _ = sender.send(delta);
        };
        let mut asking = pin!(asked.call.ask(model, context, Some(&mut show)));
        let answered = loop {
            match select(&mut asking, pin!(receiver.recv())).await {
                Either::Left((answered, _)) => break answered,
                Either::Right((None, _)) => break asking.await,
                Either::Right((Some(delta), _)) => {
                    listener(&delta);
                    if deltas.push(&delta).await {
                        return Err(cancelled_by_reader());
                    }
                }
            }
        };
        while let Ok(delta) = receiver.try_recv() {
            listener(&delta);
            deltas.push(&delta).await;
        }
        Ok(answered?)
    }

    /// Takes an answered call over into the chat: the answer and the cuts of the request become
    /// pending. A final answer is stored.
    pub(super) async fn accept(&mut self) -> Result<(), TurnError> {
        let Phase::Asked(asked) = &mut self.phase else { return Ok(()) };
        let Asked { resolved, call, started_at, ended_at } = &mut **asked;
        let answer = call.answer().ok_or_else(CallError::over)?;
        let message = Arc::new(answer.message.clone());
        let boundary = match call.rewrite() {
            Some(rewrite) => self.engine.compact(resolved, rewrite, call.plans()).await?,
            None => None,
        };
        let id = MessageId::from(self.parts.ids.next_id());
        let results = MessageId::from(self.parts.ids.next_id());
        let chat = &resolved.chat.chat;
        let link = |id: &MessageId| MessageLink::new(chat.clone(), id.clone());
        let ended_at = ended_at.unwrap_or(*started_at);
        let record = AnswerRecord {
            message: Arc::clone(&message),
            links: std::iter::once(&id).chain(&boundary).map(link).collect(),
            results: (message.tool_calls().next().is_some()).then(|| link(&results)),
            measures: measures(call, *started_at, ended_at),
        };
        self.report.add_call(call);
        self.engine.set([Fragment::from(Arc::clone(&message)).with_id(id.clone())]);
        let calls: Vec<_> = message.tool_calls().cloned().collect();
        self.answer = Some((id, message));
        if calls.is_empty() {
            self.phase = Phase::Answered;
            self.engine.save().await?;
            self.recorder.set_response(record);
        } else {
            let (answer, without_result) = (Some(record), NOT_RUN);
            let called = Called { calls, since: ended_at, results, answer, without_result };
            self.phase = Phase::Called(Box::new(called));
        }
        Ok(())
    }
}

/// Returns what is known of a call: its usage, with summaries and repeated requests, its cost and
/// its times.
fn measures(call: &ModelCall<'_>, started_at: Timestamp, ended_at: Timestamp) -> Measures {
    let usage = call.usage();
    let mut measures = Measures::default();
    (measures.started_at, measures.ended_at) = (Some(started_at), Some(ended_at));
    measures.provider = Some(call.provider().into());
    let answered = call.answer().and_then(|answer| answer.model.as_deref());
    let model = answered.unwrap_or(call.model());
    measures.model = (!model.is_empty()).then(|| model.into());
    if usage.total() > 0 {
        measures.input_tokens = Some(usage.total_input());
        measures.output_tokens = Some(usage.output);
        measures.cache_read_tokens = Some(usage.cache_read);
        measures.cache_write_tokens = Some(usage.cache_write);
        measures.reasoning_tokens = usage.reasoning;
    }
    measures.cost_usd = call.cost_usd();
    measures
}
