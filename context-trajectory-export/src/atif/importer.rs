//! Import of ATIF steps of other programs as if they had been recorded here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::trajectory::{
    AgentRef, Measures, NewNode, NewQuery, NodeBody, NodeId, NodeTitle, ParentNode, Round,
    RoundState, TrajectoryNodeKind, edge,
};
use context_core::{Json, Timestamp};
use serde::Deserialize;

use super::error::AtifError;
use super::form::{Call, CallResult, Document, Metrics, Source, Step};

/// Reads documents one after another, with their embedded trajectories.
pub(super) struct Importer {
    session: AgentRef,
    rounds: Vec<Round>,
    /// The calling node of each trajectory, by trajectory id.
    callers: HashMap<String, ParentNode>,
}

impl Importer {
    pub(super) fn new(session: AgentRef) -> Self {
        Self { session, rounds: Vec::new(), callers: HashMap::new() }
    }

    pub(super) fn documents(mut self, root: Document) -> Result<Vec<Round>, AtifError> {
        let mut names = Vec::new();
        let mut open = vec![root];
        while let Some(mut document) = open.pop() {
            let embedded = document.subagent_trajectories.take().unwrap_or_default();
            open.extend(embedded.into_iter().rev());
            let number = names.len() as u32;
            names.push(document.trajectory_id.take());
            let agent = AgentRef { agent: number, ..self.session.clone() };
            let mut reading = AgentReader::new(agent, &mut self);
            for (at, step) in document.steps.iter().enumerate() {
                if step.is_copied_context != Some(true) {
                    let is_last =
                        document.steps.get(at + 1).is_none_or(|next| next.source == Source::User);
                    reading.step(step, is_last)?;
                }
            }
            reading.close();
        }
        let callers = self.callers;
        let parents: Vec<_> =
            names.iter().map(|name| callers.get(name.as_deref()?).copied()).collect();
        let placed = self.rounds.into_iter().map(|round| {
            let agent = round.round().agent.agent;
            match parents[agent as usize] {
                Some(parent) if parent.agent != agent => round.below(parent),
                _ => round,
            }
        });
        Ok(placed.collect())
    }
}

struct AgentReader<'a> {
    agent: AgentRef,
    importer: &'a mut Importer,
    round: Option<Round>,
    next: u32,
    /// The nodes that the next step follows.
    tails: Vec<NodeId>,
    now: Timestamp,
    /// System messages that came before the first question.
    waiting: Vec<String>,
}

impl<'a> AgentReader<'a> {
    fn new(agent: AgentRef, importer: &'a mut Importer) -> Self {
        let now = Timestamp::default();
        Self { agent, importer, round: None, next: 0, tails: Vec::new(), now, waiting: Vec::new() }
    }

    fn step(&mut self, step: &Step, is_last: bool) -> Result<(), AtifError> {
        self.now = step.timestamp.as_deref().and_then(time).unwrap_or(self.now);
        match step.source {
            Source::User => self.ask(&shown(&step.message)),
            Source::System => {
                self.waiting.push(shown(&step.message));
                let results = step.observation.iter().flat_map(|observation| &observation.results);
                self.waiting
                    .extend(results.filter_map(|result| result.content.as_ref()).map(shown));
                if self.round.is_some() { self.add_system_messages() } else { Ok(()) }
            }
            Source::Agent => self.act(step, is_last),
        }
    }

    fn ask(&mut self, text: &str) -> Result<(), AtifError> {
        self.close();
        let mut round = Round::new(self.agent.round(self.next), self.now);
        if let Some(last) =
            self.importer.rounds.last().filter(|last| last.round().agent == self.agent)
        {
            round = round.continuing(&last.head());
        }
        let (query, _) = round.ask(NewQuery::new(text), self.now)?;
        self.next += 1;
        self.tails = vec![query];
        self.round = Some(round);
        self.add_system_messages()
    }

    /// Returns the current round. Starts one with an empty question if there is none.
    fn round(&mut self) -> Result<&mut Round, AtifError> {
        if self.round.is_none() {
            self.ask("")?;
        }
        Ok(self.round.as_mut().expect("one was just begun"))
    }

    /// Records system messages as knowledge nodes after the current end.
    fn add_system_messages(&mut self) -> Result<(), AtifError> {
        let (after, now) = (self.tails.clone(), self.now);
        for text in std::mem::take(&mut self.waiting) {
            let new = NewNode::new(NodeBody::knowledge("system", text), after.clone());
            self.round()?.add(new.edge("find_relevant_knowledge"), now)?;
        }
        Ok(())
    }

    fn act(&mut self, step: &Step, is_last: bool) -> Result<(), AtifError> {
        self.round()?;
        let calls = step.tool_calls.as_deref().unwrap_or_default();
        let results = step.observation.as_ref().map_or(&[][..], |observation| &observation.results);
        let text = shown(&step.message);
        let is_answer = is_last && calls.is_empty() && results.is_empty();
        let body = if is_answer { NodeBody::response(text) } else { NodeBody::state(text) };
        let body = match &step.reasoning_content {
            Some(thoughts) => body.with("reasoning_content", thoughts.as_str())?,
            None => body,
        };
        let (now, tails) = (self.now, self.tails.clone());
        let new = NewNode::new(body, tails).measure(measures(step, now));
        let (state, _) = self.round()?.add(new, now)?;
        if is_answer {
            return Ok(());
        }
        self.tails = vec![state];
        let mut by_call: HashMap<&str, Vec<&CallResult>> = HashMap::new();
        let names: HashSet<&str> = calls.iter().map(|call| call.tool_call_id.as_str()).collect();
        let mut loose = Vec::new();
        for result in results {
            match result.source_call_id.as_deref().filter(|id| names.contains(id)) {
                Some(id) => by_call.entry(id).or_default().push(result),
                None => loose.push(result),
            }
        }
        let mut actions = Vec::with_capacity(calls.len());
        for call in calls {
            let results = by_call.remove(call.tool_call_id.as_str()).unwrap_or_default();
            let action = self.call(call, &results, state, actions.is_empty())?;
            self.called(action, &results);
            actions.push(action);
        }
        self.called(state, &loose);
        for content in loose.iter().filter_map(|result| result.content.as_ref()) {
            let new = NewNode::new(NodeBody::knowledge("observation", shown(content)), [state]);
            self.round()?.add(new.edge(edge::PRODUCES), now)?;
        }
        if !actions.is_empty() {
            self.tails = actions;
        }
        Ok(())
    }

    fn call(
        &mut self,
        call: &Call,
        results: &[&CallResult],
        state: NodeId,
        is_first: bool,
    ) -> Result<NodeId, AtifError> {
        let mut body = NodeBody::action(&*call.function_name, call.arguments.clone());
        let contents: Vec<&Json> =
            results.iter().filter_map(|result| result.content.as_ref()).collect();
        if let Some(first) = contents.first() {
            let all = if contents.len() == 1 {
                (*first).clone()
            } else {
                Json::from_serialize(&contents)?
            };
            body = body.with("output", all)?.with("success", true)?;
        }
        let now = self.now;
        let round = self.round()?;
        let title = NodeTitle {
            kind: TrajectoryNodeKind::Action,
            label: call.tool_call_id.as_str().into(),
        };
        let mut new = NewNode::new(body, [state]);
        // Some programs restart call ids in each step.
        if !title.label.is_empty() && round.find(&title).is_none() {
            new = new.label(title.label);
        }
        let new = if is_first { new } else { new.append() };
        Ok(round.add(new, now)?.0)
    }

    /// Remembers which node called which sub-agent.
    fn called(&mut self, node: NodeId, results: &[&CallResult]) {
        let refs =
            results.iter().flat_map(|result| result.subagent_trajectory_ref.iter().flatten());
        for id in refs.filter_map(|reference| reference.trajectory_id.clone()) {
            self.importer.callers.entry(id).or_insert(ParentNode { agent: self.agent.agent, node });
        }
    }

    fn close(&mut self) {
        if let Some(mut round) = self.round.take() {
            round.set_state(RoundState::Closed, self.now);
            self.importer.rounds.push(round);
        }
    }
}

/// Returns a message as text. Parts that are not text are shown by their type.
fn shown(content: &Json) -> String {
    #[derive(Deserialize)]
    struct Part {
        #[serde(rename = "type", default)]
        kind: String,
        text: Option<String>,
    }
    if let Some(text) = content.to_text() {
        return text;
    }
    match content.parse::<Vec<Part>>() {
        Ok(parts) => {
            let lines = parts
                .into_iter()
                .map(|part| part.text.unwrap_or_else(|| format!("[{}]", part.kind)));
            lines.collect::<Vec<_>>().join("\n")
        }
        Err(_) => content.as_str().to_owned(),
    }
}

fn measures(step: &Step, at: Timestamp) -> Measures {
    let mut known = Measures::default();
    if step.timestamp.is_some() {
        known.started_at = Some(at);
    }
    known.model = step.model_name.as_deref().map(Arc::from);
    if let Some(Metrics { prompt_tokens, completion_tokens, cached_tokens, cost_usd }) =
        &step.metrics
    {
        known.input_tokens = *prompt_tokens;
        known.output_tokens = *completion_tokens;
        known.cache_read_tokens = *cached_tokens;
        known.cost_usd = *cost_usd;
    }
    known
}

/// Parses an ISO 8601 time. A time without an offset is in UTC.
fn time(text: &str) -> Option<Timestamp> {
    let time: Result<jiff::Timestamp, _> = text.parse();
    let naive = || {
        text.parse::<jiff::civil::DateTime>().ok()?.in_tz("UTC").ok().map(|time| time.timestamp())
    };
    time.ok().or_else(naive).map(|time| Timestamp::from_micros(time.as_microsecond()))
}
