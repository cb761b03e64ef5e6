//! Recording the steps of a turn as a round.

use std::sync::Arc;

use context_core::base::{DiagnosticCode, Severity};
use context_core::store::RoundQuery;
use context_core::trajectory::{
    AgentRef, FieldValue, Measures, MessageLink, NewQuery, NodeId, RoundHead, RoundState,
};
use context_core::{
    ChatId, Diagnostic, Json, Message, MessageId, Result, Role, Timestamp, ToolResult,
};
use context_trajectory::{OpenOptions, OpenRound, RecordError, Step, Trajectories};

/// The round of a turn. Nothing is recorded without one, and what cannot be recorded is a
/// diagnostic: the turn goes on.
#[derive(Debug, Default)]
pub(super) struct TurnRecorder {
    trajectories: Option<Trajectories>,
    round: Option<OpenRound>,
    /// The final answer, if it is not recorded yet.
    response: Option<AnswerRecord>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// A turn, as far as it is stored. Returned by
/// [`AgentChat::newest_turn`](crate::AgentChat::newest_turn).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredTurn {
    /// The chat.
    pub chat: ChatId,
    /// The question, whose id names the turn.
    pub question: (MessageId, Arc<Message>),
    /// The messages after the question: answers with calls, results, the answer.
    pub messages: Vec<(MessageId, Arc<Message>)>,
    /// Whether an interrupted turn is continued.
    pub(super) is_continued: bool,
}

/// An answer with everything that is known about its call.
#[derive(Debug)]
pub(super) struct AnswerRecord {
    pub(super) message: Arc<Message>,
    /// The message, and the boundary that its request was cut by.
    pub(super) links: Vec<MessageLink>,
    /// The message of the results of the calls, which may not be stored yet.
    pub(super) results: Option<MessageLink>,
    pub(super) measures: Measures,
}

/// The result of a tool, with its times.
#[derive(Clone, Debug)]
pub(super) struct ResultRecord {
    pub(super) result: ToolResult,
    pub(super) started_at: Timestamp,
    pub(super) ended_at: Timestamp,
}

impl TurnRecorder {
    /// Opens the round of a turn. An earlier round that nobody closed is closed as interrupted,
    /// unless it is that of this turn, which is continued.
    pub(super) async fn begin(
        trajectories: Option<&Trajectories>,
        agent: &AgentRef,
        before: (Option<OpenRound>, Option<RoundHead>),
        turn: &StoredTurn,
    ) -> Self {
        let mut recorder = Self { trajectories: trajectories.cloned(), ..Self::default() };
        let Some(trajectories) = trajectories else { return recorder };
        let begun = begin(trajectories, agent, before, turn).await;
        recorder.round = recorder.report(begun);
        if let Some(round) = recorder.round.clone() {
            let caught_up = catch_up(&round, turn).await;
            recorder.report(caught_up);
        }
        recorder
    }

    /// The round.
    pub(super) fn round(&self) -> Option<&OpenRound> {
        self.round.as_ref()
    }

    /// Records an answer that is not recorded yet with its calls, and the results of its calls as
    /// they are stored: in one write.
    pub(super) async fn record(
        &mut self,
        answer: Option<&AnswerRecord>,
        results: &[ResultRecord],
        stored: &Message,
    ) {
        let change = |round: &OpenRound| change(round, answer, results, stored);
        self.write(change, None).await;
    }

    /// Takes the final answer, which is recorded when the round is closed, in the same write.
    pub(super) fn set_response(&mut self, answer: AnswerRecord) {
        self.response = Some(answer);
    }

    /// Records the final answer before the round is closed.
    pub(super) async fn record_response(&mut self) {
        if let Some(answer) = self.response.take() {
            self.record(Some(&answer), &[], &answer.message).await;
        }
    }

    /// Adds the final answer of a dropped turn to its round. Whoever next writes to the round in
    /// this process stores it.
    pub(super) fn keep_response(&mut self) {
        if let (Some(answer), Some(round)) = (self.response.take(), &self.round)
            && let Err(error) = change(round, Some(&answer), &[], &answer.message)
        {
            tracing::warn!(%error, "the answer of a dropped turn was not recorded");
        }
    }

    /// Records the final answer unless it is recorded already, closes the round, and returns its
    /// head.
    pub(super) async fn end(&mut self, state: RoundState) -> Option<RoundHead> {
        let response = self.response.take();
        let change = |round: &OpenRound| match &response {
            Some(answer) => change(round, Some(answer), &[], &answer.message),
            None => Ok(()),
        };
        self.write(change, Some(state)).await?;
        self.round.take().map(|round| round.round().head())
    }

    /// Changes the round and closes it if a final state is set, in one write. A round that another
    /// process has written to meanwhile is opened again.
    async fn write(
        &mut self,
        change: impl Fn(&OpenRound) -> Result<(), RecordError>,
        state: Option<RoundState>,
    ) -> Option<()> {
        let round = self.round.clone()?;
        let mut written = write(&round, &change, state).await;
        if let Err(RecordError::Superseded { .. }) = written {
            written = match self.reopen(&round).await {
                Ok(round) => write(&round, &change, state).await,
                Err(error) => Err(error),
            };
        }
        self.report(written)
    }

    /// Returns the round and the node of a tool call.
    pub(super) fn node_of_call(&self, call: &str) -> Option<(OpenRound, NodeId)> {
        let round = self.round.as_ref()?;
        Some((round.clone(), round.action_of_call(call)?))
    }

    /// Opens the round again after another process has written to it.
    async fn reopen(&mut self, lost: &OpenRound) -> Result<OpenRound, RecordError> {
        let Some(trajectories) = &self.trajectories else { return Ok(lost.clone()) };
        let round = trajectories.open(lost.reference(), OpenOptions::new()).await?;
        self.round = Some(round.clone());
        Ok(round)
    }

    fn report<T>(&mut self, recorded: Result<T, RecordError>) -> Option<T> {
        recorded
            .map_err(|error| {
                tracing::warn!(%error, "a step of a turn was not recorded");
                self.diagnostics.push(Diagnostic::new(
                    DiagnosticCode::StepNotRecorded,
                    Severity::Warning,
                    "trajectory",
                    format!("a step was not recorded: {error}"),
                ));
            })
            .ok()
    }
}

async fn begin(
    trajectories: &Trajectories,
    agent: &AgentRef,
    (reserved, closed): (Option<OpenRound>, Option<RoundHead>),
    turn: &StoredTurn,
) -> Result<OpenRound, RecordError> {
    if let Some(round) = reserved {
        return ask(round, turn).await;
    }
    // If no other process has recorded since, nothing has to be read.
    if let Some(closed) = closed.filter(|_| !turn.is_continued) {
        let round = trajectories.begin_after(agent, Some(&closed)).await?;
        match ask(round, turn).await {
            Err(RecordError::Superseded { .. }) => {}
            asked => return asked,
        }
    }
    let newest = trajectories.rounds(&RoundQuery::of_agent(agent).limit(1)).await?.items.pop();
    let unfinished = |head: &&RoundHead| match head.state {
        RoundState::Open => true,
        RoundState::Interrupted => turn.is_continued,
        _ => false,
    };
    let left = newest.as_ref().filter(unfinished);
    if let Some(head) = left.filter(|head| !trajectories.is_open(&head.round)) {
        let reference = &head.round;
        let open = || trajectories.open(reference, OpenOptions::new());
        let settled = match settle(open().await?, turn).await {
            // What is kept in memory is older than what is stored, as after a removal.
            Err(RecordError::Superseded { .. }) => settle(open().await?, turn).await?,
            settled => settled?,
        };
        if let Some(round) = settled {
            return Ok(round);
        }
    }
    ask(trajectories.begin_after(agent, newest.as_ref()).await?, turn).await
}

/// Returns a round that nobody closed if it is of this turn, and closes it otherwise.
async fn settle(round: OpenRound, turn: &StoredTurn) -> Result<Option<OpenRound>, RecordError> {
    if is_recorded(&round, &turn.question.0) {
        round.set_state(RoundState::Open).await?;
        return Ok(Some(round));
    }
    round.close(RoundState::Interrupted).await?;
    Ok(None)
}

/// Records the question of a turn.
async fn ask(round: OpenRound, turn: &StoredTurn) -> Result<OpenRound, RecordError> {
    let (id, question) = &turn.question;
    let link = MessageLink::new(turn.chat.clone(), id.clone());
    round.ask(NewQuery::new(&*question.plain_text()).message(link)).await?;
    Ok(round)
}

/// Records what the chat has of a turn and its round lacks: the process that stored it ended before
/// it was recorded.
async fn catch_up(round: &OpenRound, turn: &StoredTurn) -> Result<(), RecordError> {
    let link = |id: &MessageId| MessageLink::new(turn.chat.clone(), id.clone());
    for (at, (id, message)) in turn.messages.iter().enumerate() {
        if message.role == Role::Assistant && !is_recorded(round, id) {
            let results = turn.messages.get(at + 1).filter(|(_, next)| next.role == Role::Tool);
            let answer = AnswerRecord {
                message: Arc::clone(message),
                links: vec![link(id)],
                results: results.map(|(id, _)| link(id)),
                measures: Measures::default(),
            };
            round.step(step(&answer)).await?;
        }
        for result in message.tool_results() {
            let Some(action) = round.action_of_call(&result.call_id) else { continue };
            let snapshot = round.round();
            let waits = snapshot.node(action).is_some_and(|node| {
                node.body.get("output").is_some_and(|output| *output == pending())
            });
            drop(snapshot);
            if waits {
                round.record_result(result, &Measures::default()).await?;
            }
        }
    }
    Ok(())
}

/// Whether a node of the round stands for a message.
fn is_recorded(round: &OpenRound, message: &MessageId) -> bool {
    let round = round.round();
    round.nodes().any(|node| node.messages.iter().any(|link| link.message == *message))
}

/// The output of an action without a result.
fn pending() -> FieldValue {
    FieldValue::Json(Json::from("Pending"))
}

async fn write(
    round: &OpenRound,
    change: &impl Fn(&OpenRound) -> Result<(), RecordError>,
    state: Option<RoundState>,
) -> Result<(), RecordError> {
    let changed = change(round);
    match state {
        Some(state) => round.close(state).await?,
        None => round.flush().await?,
    }
    changed
}

fn change(
    round: &OpenRound,
    answer: Option<&AnswerRecord>,
    results: &[ResultRecord],
    stored: &Message,
) -> Result<(), RecordError> {
    // Another process that continued the turn may have recorded the stored answer.
    let link = answer.and_then(|answer| answer.links.first());
    let answer = answer.filter(|_| !link.is_some_and(|link| is_recorded(round, &link.message)));
    if let Some(answer) = answer {
        round.step_later(step(answer))?;
    }
    for ResultRecord { result, started_at, ended_at } in results {
        // The stored result may be a preview of a spilled one.
        let of_call = |stored: &&ToolResult| stored.call_id == result.call_id;
        let result = stored.tool_results().find(of_call).unwrap_or(result);
        let mut measures = Measures::default();
        (measures.started_at, measures.ended_at) = (Some(*started_at), Some(*ended_at));
        round.record_result_later(result, &measures)?;
    }
    Ok(())
}

fn step(answer: &AnswerRecord) -> Step {
    let mut step = Step::of_message(&answer.message).measure(answer.measures.clone());
    step.messages.clone_from(&answer.links);
    for call in &mut step.calls {
        call.messages.extend(answer.links.first().cloned());
        call.messages.extend(answer.results.clone());
    }
    step
}
