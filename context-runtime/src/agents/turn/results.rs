//! Tool results of a turn.

use std::sync::Arc;

use context_core::{Fragment, Message, ToolCall, ToolResult};

use super::{Called, Phase, Turn};
use crate::agents::recorder::ResultRecord;
use crate::agents::{AgentChat, ToolContext, TurnError};
use crate::{HistoryTools, READ_SPILLED, Spilled};

/// The result of a call whose tool did not run.
pub(super) const NOT_RUN: &str = "The tool was not run.";

/// The fate of calls without a result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// They get a result that says so.
    SayNotRun,
    /// They wait for their results.
    StayOpen,
}

impl Turn<'_> {
    /// Whether the library answers a call itself.
    pub(super) fn answers(&self, call: &ToolCall) -> bool {
        self.settings.history_tools.contains(&call.name) || self.reads_spilled(call)
    }

    fn reads_spilled(&self, call: &ToolCall) -> bool {
        call.name == READ_SPILLED && self.parts.runtime.spill().is_some()
    }

    /// Stores and records the answer that calls tools, before they run.
    pub(in crate::agents) async fn save_calls(&mut self) -> Result<(), TurnError> {
        if let Phase::Asked(asked) = &self.phase
            && asked.call.answer().is_some()
        {
            self.accept().await?;
        }
        if let Phase::Called(called) = &mut self.phase
            && called.answer.is_some()
        {
            self.engine.save().await?;
            if let Some(answer) = called.answer.take() {
                self.recorder.record(Some(&answer), &[], &answer.message).await;
            }
        }
        Ok(())
    }

    /// Opens a chat of a sub-agent for a call of the newest answer, recorded below the call. The
    /// answer is stored first. See [`ToolContext::agent`].
    pub async fn agent(&mut self, call: &ToolCall, name: &str) -> Result<AgentChat, TurnError> {
        if let Err(error) = self.save_calls().await {
            return Err(self.fail(error).await);
        }
        Ok(self.tool_context(call, self.fragments()).agent(name).await?)
    }

    /// Opens a chat of a sub-agent for a call of the newest answer, that knows what this chat
    /// knows. The answer is stored first. See [`ToolContext::fork`].
    pub async fn fork(&mut self, call: &ToolCall, name: &str) -> Result<AgentChat, TurnError> {
        if let Err(error) = self.save_calls().await {
            return Err(self.fail(error).await);
        }
        Ok(self.tool_context(call, self.fragments()).fork(name).await?)
    }

    /// The fragments of the chat, for the contexts of tools.
    pub(in crate::agents) fn fragments(&self) -> Arc<[Fragment]> {
        self.engine.fragments().cloned().collect()
    }

    /// Returns what the tool of a call knows of this turn.
    pub(in crate::agents) fn tool_context(
        &self,
        call: &ToolCall,
        fragments: Arc<[Fragment]>,
    ) -> ToolContext {
        ToolContext {
            agents: self.agents.clone(),
            turn: self.reference(),
            branch: self.engine.branch().clone(),
            fragments,
            cancel: self.settings.cancel.clone(),
            call: call.id.clone(),
            node: self.recorder.node_of_call(&call.id),
        }
    }

    /// Gives the results of the newest calls to the chat, stores and records them with their
    /// answer.
    pub(super) async fn give_results(&mut self, unanswered: Unanswered) -> Result<(), TurnError> {
        self.answer_own_calls().await;
        let now = self.parts.clock.now();
        let Phase::Called(called) = &mut self.phase else { return Ok(()) };
        let Called { calls, since, results, answer, without_result } = &mut **called;
        let mut given = self.results.clone();
        let mut not_run = Vec::new();
        for call in calls.iter().filter(|_| unanswered == Unanswered::SayNotRun) {
            if !given.iter().any(|given| given.result.call_id == call.id) {
                not_run.push(call.name.clone());
                let result = call.error(*without_result);
                given.push(ResultRecord { result, started_at: *since, ended_at: now });
            }
        }
        let place = |result: &ToolResult| calls.iter().position(|call| call.id == result.call_id);
        given.sort_by_key(|given| place(&given.result));
        let named = given.iter().map(|given| given.result.clone());
        let runtime = &self.parts.runtime;
        let applied = self.engine.set_tool_results_as(runtime, named, results).await?;
        let answer = answer.take();
        self.phase = Phase::Ready;
        self.results.clear();
        self.report.not_run.extend(not_run);
        self.engine.save().await?;

        let stored = applied.appended.first().cloned().unwrap_or_else(|| Message::tool([]).into());
        self.recorder.record(answer.as_ref(), &given, &stored).await;
        self.report.steps += 1;
        self.report.tool_results += u32::try_from(given.len()).unwrap_or(u32::MAX);
        let spilled = stored.tool_results().filter_map(|result| Spilled::of(&result.metadata));
        self.report.spilled_bytes += spilled.map(|spilled| spilled.bytes).sum::<u64>();
        self.report.diagnostics.extend(applied.diagnostics);
        Ok(())
    }

    /// Answers the calls of tools that come with the store.
    async fn answer_own_calls(&mut self) {
        let Phase::Called(called) = &self.phase else { return };
        let (spill, chat) = (self.parts.runtime.spill(), self.engine.chat_ref().clone());
        let history =
            HistoryTools::new(&*self.parts.store, chat.clone(), self.engine.branch().clone());
        let history = history.runtime(&self.parts.runtime);
        let own: Vec<_> = called.calls.iter().filter(|call| self.answers(call)).collect();
        for call in own {
            if self.results.iter().any(|given| given.result.call_id == call.id) {
                continue;
            }
            let started_at = self.parts.clock.now();
            let result = match &spill {
                Some(spill) if call.name == READ_SPILLED => spill.answer(&chat, call).await,
                _ => history.answer(call).await,
            };
            let ended_at = self.parts.clock.now();
            self.results.push(ResultRecord { result, started_at, ended_at });
        }
    }
}
