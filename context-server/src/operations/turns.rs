//! Turns that are made step by step, each step by whichever process is asked.
//!
//! A step opens the chat, continues its newest turn from what is stored, and leaves it again. So
//! nothing is kept between two steps, and the settings of the turn come with each of them.

use std::sync::Arc;

use context_runtime::store::RoundQuery;
use context_runtime::trajectory::RoundState;
use context_runtime::{
    AgentChat, Agents, CallOptions, CallRequest, ChatRef, Error, ErrorKind, Fragment, FunctionTool,
    INCOMPLETE, Message, MessageId, Metadata, Part, Role, StoredTurn, ToolCall, ToolResult, Turn,
    TurnBuilder, limits, provider, role,
};

use super::Operations;
use super::turn_step::{
    BeginTurn, ContinueTurn, PreparedCall, RequestedCall, StepAnswer, StepUsage, ToolOutcome,
    TurnSettings, TurnState, TurnStep,
};
use crate::OperationError;

/// The most replies to one call, refusals included.
const REPLIES: usize = 8;

impl Operations {
    /// Begins a turn: stores the question, and returns the request for the model. A question that
    /// is stored under the same id already is continued instead.
    pub async fn begin_turn(
        &self,
        chat: &str,
        begin: BeginTurn,
    ) -> Result<TurnStep, OperationError> {
        self.check_writable()?;
        let mut handle = self.agent_chat(chat, &begin.settings).await?;
        let parts = match (begin.question, begin.parts) {
            (Some(text), parts) if parts.is_empty() => vec![Part::text(text)],
            (None, parts) if !parts.is_empty() => parts,
            _ => {
                return Err(OperationError::invalid(
                    "question",
                    "a turn has one, as text or parts",
                ));
            }
        };
        let begun = match &begin.id {
            Some(id) => {
                limits::check_id("turn", "id", id)?;
                let newest = handle.newest_turn().await?;
                newest.filter(|newest| newest.question.0.as_str() == id)
            }
            None => None,
        };
        if let Some(answered) = self.answered_step(&mut handle, begun.as_ref()).await? {
            return Ok(answered);
        }
        if begun.is_none()
            && let Some(id) = &begin.id
        {
            self.check_new(&self.checked(chat)?, id).await?;
        }
        let builder = if begun.is_some() {
            handle.resume()
        } else {
            let mut builder = handle.turn(Message::new(Role::User, parts));
            if let Some(id) = begin.id {
                builder = builder.id(id);
            }
            builder
        };
        let mut turn = settings_of(builder, &begin.settings).begin().await?;
        let calls = turn.tool_calls();
        if !calls.is_empty() {
            return leave(turn, None, calls).await;
        }
        next(turn).await
    }

    /// Makes the next step of the newest turn of a chat: takes the replies of the model or the
    /// results of tools, stores them, and returns what the program does next.
    pub async fn continue_turn(
        &self,
        chat: &str,
        turn: &str,
        step: ContinueTurn,
    ) -> Result<TurnStep, OperationError> {
        self.check_writable()?;
        if step.replies.len() > REPLIES {
            let problem = format!("a call has at most {REPLIES} replies");
            return Err(OperationError::invalid("replies", problem));
        }
        let mut handle = self.agent_chat(chat, &step.settings).await?;
        let stored = newest(&mut handle, turn).await?;
        if let Some(answered) = self.answered_step(&mut handle, Some(&stored)).await? {
            return Ok(answered);
        }
        let mut open = settings_of(handle.resume(), &step.settings).begin().await?;
        // A repeated step has results that are stored already.
        let stored_results = stored.messages.iter().flat_map(|(_, message)| message.tool_results());
        let given: Vec<_> = stored_results.map(|result| &*result.call_id).collect();
        for outcome in step.results {
            if !given.contains(&&*outcome.call_id) {
                open.result(outcome.into_result());
            }
        }
        let waiting = open.tool_calls();
        if !waiting.is_empty() {
            return leave(open, None, waiting).await;
        }
        for reply in &step.replies {
            // The request that the reply is to is prepared again, from the same stored state.
            if open.next().await?.is_none() {
                break;
            }
            match reply.events.is_empty() {
                true => open.received(reply.status, &reply.text()),
                false => {
                    for event in &reply.events {
                        open.event(event).await?;
                    }
                    open.events_ended();
                }
            }
            let calls = open.tool_calls();
            if !calls.is_empty() {
                return leave(open, None, calls).await;
            }
        }
        next(open).await
    }

    /// Cancels the newest turn of a chat. Calls of tools without a result say that they were not
    /// run.
    pub async fn cancel_turn(
        &self,
        chat: &str,
        turn: &str,
        settings: &TurnSettings,
    ) -> Result<(), OperationError> {
        self.check_writable()?;
        let mut handle = self.agent_chat(chat, settings).await?;
        let stored = newest(&mut handle, turn).await?;
        if stored.answer().is_none() {
            settings_of(handle.resume(), settings).begin().await?.cancel().await?;
        }
        Ok(())
    }

    /// Returns the step of a turn that has its answer already. A turn that was left between its
    /// answer and its end is ended first.
    async fn answered_step(
        &self,
        handle: &mut AgentChat,
        turn: Option<&StoredTurn>,
    ) -> Result<Option<TurnStep>, OperationError> {
        let Some((turn, (id, message))) = turn.and_then(|turn| Some((turn, turn.answer()?))) else {
            return Ok(None);
        };
        if self.has_open_round(handle).await? {
            return Ok(Some(next(handle.resume().begin().await?).await?));
        }
        Ok(Some(TurnStep {
            turn: turn.question.0.to_string(),
            state: TurnState::Answered,
            request: None,
            calls: Vec::new(),
            answer: Some(StepAnswer {
                message: id.to_string(),
                text: message.plain_text().into_owned(),
                incomplete: message.metadata.get(INCOMPLETE).is_some(),
            }),
            usage: StepUsage::default(),
            diagnostics: Vec::new(),
        }))
    }

    /// Whether the newest round of a chat is open.
    async fn has_open_round(&self, handle: &AgentChat) -> Result<bool, OperationError> {
        let Some(rounds) = self.store.trajectories() else { return Ok(false) };
        let newest = rounds.rounds(&RoundQuery::of_agent(handle.agent()).limit(1)).await?;
        Ok(newest.items.first().is_some_and(|head| head.state == RoundState::Open))
    }

    /// Refuses an id that a message of the chat has: a turn that others have followed since cannot
    /// begin again.
    async fn check_new(&self, chat: &ChatRef, id: &str) -> Result<(), OperationError> {
        let stored = self.history().messages(chat, &[MessageId::from(id)]).await?;
        if stored.iter().all(Option::is_none) {
            return Ok(());
        }
        let text = "a message of the chat has this id, and it is not the newest question";
        Err(Error::new(ErrorKind::Conflict, "turn", text).with("id", id).into())
    }

    /// Opens a chat with the parts that the settings name.
    pub(super) async fn agent_chat(
        &self,
        chat: &str,
        settings: &TurnSettings,
    ) -> Result<AgentChat, OperationError> {
        let chat = self.checked(chat)?;
        let agents = self.agents(settings)?;
        let mut handle = match &settings.branch {
            Some(branch) => agents.chat_on(chat.user, chat.chat, branch.as_str()).await?,
            None => agents.chat(chat.user, chat.chat).await?,
        };
        let mut fragments = Vec::new();
        if let Some(system) = &settings.system {
            fragments.push(role(system.as_str()));
        }
        for value in &settings.fragments {
            let fragment: Result<Fragment, _> = serde_json::from_value(value.clone());
            let fragment = fragment
                .map_err(|error| OperationError::invalid("fragments", error.to_string()))?;
            fragments.push(fragment);
        }
        handle.set(fragments);
        Ok(handle)
    }

    fn agents(&self, settings: &TurnSettings) -> Result<Agents, OperationError> {
        if settings.model.trim().is_empty() {
            return Err(OperationError::invalid("model", "the settings have to name one"));
        }
        let mut builder = Agents::builder(Arc::clone(&self.store))
            .model(settings.model.as_str())
            .shared_environment(Arc::clone(&self.clock), Arc::clone(&self.ids))
            // The program that sends the request waits, and no step waits for its summary.
            .calls(CallOptions::new().sleep(false))
            .summaries_ahead(false)
            .history_tools(settings.history_tools);
        if let Some(name) = &settings.provider {
            let codec = provider(name)
                .map_err(|error| OperationError::invalid("provider", error.to_string()))?;
            builder = builder.provider(codec);
        }
        if let Some(window) = settings.window {
            builder = builder.runtime(|runtime| runtime.window(window));
        }
        if settings.memory {
            builder = builder.memory(context_runtime::memory::episodic(&self.store)?);
        }
        builder.build().map_err(|faults| OperationError::invalid("settings", faults.to_string()))
    }
}

impl ToolOutcome {
    fn into_result(self) -> ToolResult {
        let mut output = self.output;
        output.extend(self.text.map(Part::text));
        let (call_id, is_error) = (self.call_id, self.is_error);
        ToolResult { call_id, name: None, output, is_error, metadata: Metadata::default() }
    }
}

/// Returns the newest turn of a chat, which must have this name.
async fn newest(handle: &mut AgentChat, turn: &str) -> Result<StoredTurn, OperationError> {
    let newest = handle.newest_turn().await?;
    let newest = newest.filter(|newest| newest.question.0.as_str() == turn);
    Ok(newest.ok_or_else(|| Error::not_found("turn", "turn", turn))?)
}

impl TurnSettings {
    /// Returns the tools for the library.
    pub(super) fn functions(&self) -> impl Iterator<Item = FunctionTool> {
        self.tools.iter().map(|tool| {
            let mut function = FunctionTool::new(&*tool.name, tool.input_schema.clone());
            function.description.clone_from(&tool.description);
            function.strict = tool.strict;
            function
        })
    }
}

fn settings_of<'c>(mut builder: TurnBuilder<'c>, settings: &TurnSettings) -> TurnBuilder<'c> {
    builder = builder.tools(settings.functions());
    if let Some(stream) = settings.stream {
        builder = builder.prepare(move |mut input| {
            input.request.stream = Some(stream);
            input
        });
    }
    match settings.max_output_tokens {
        Some(tokens) => builder.max_output_tokens(tokens),
        None => builder,
    }
}

/// Prepares the next request of a turn, or ends the turn.
async fn next(mut turn: Turn<'_>) -> Result<TurnStep, OperationError> {
    if let Some(request) = turn.next().await? {
        return leave(turn, Some(request), Vec::new()).await;
    }
    let id = turn.id().to_string();
    let answer = turn.finish().await?;
    Ok(TurnStep {
        turn: id,
        state: TurnState::Answered,
        request: None,
        calls: Vec::new(),
        answer: Some(StepAnswer {
            message: answer.id.to_string(),
            text: answer.text().into_owned(),
            incomplete: answer.is_incomplete(),
        }),
        usage: StepUsage::of(&answer.report),
        diagnostics: answer.report.diagnostics,
    })
}

/// Leaves a turn that waits for a reply or for results.
async fn leave(
    turn: Turn<'_>,
    request: Option<CallRequest>,
    calls: Vec<ToolCall>,
) -> Result<TurnStep, OperationError> {
    let (id, provider) = (turn.id().to_string(), turn.provider().to_owned());
    let report = turn.suspend().await?;
    let calls = calls.into_iter().map(|call| RequestedCall {
        id: call.id,
        name: call.name,
        arguments: call.input.as_written().to_owned(),
    });
    Ok(TurnStep {
        turn: id,
        state: if request.is_some() { TurnState::Call } else { TurnState::Tools },
        request: request.map(|request| PreparedCall::of(&provider, &request)),
        calls: calls.collect(),
        answer: None,
        usage: StepUsage::of(&report),
        diagnostics: report.diagnostics,
    })
}

impl PreparedCall {
    fn of(provider: &str, request: &CallRequest) -> Self {
        let header = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self {
            provider: provider.to_owned(),
            headers: request.headers.iter().map(header).collect(),
            number: request.number,
            wait_ms: u64::try_from(request.wait.as_millis()).unwrap_or(u64::MAX),
            tokens: request.context.breakdown.total().tokens(),
            body: request.body().clone(),
        }
    }
}
