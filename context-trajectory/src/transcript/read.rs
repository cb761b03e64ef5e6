//! Reading messages into steps.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::base::{JsonMap, limits};
use context_core::trajectory::{Changes, Measures, MessageLink, NewQuery};
use context_core::{ChatId, Json, Message, MessageId, Node, Part, Role, Timestamp, ToolResult};

use super::{
    SkipReason, SkippedMessage, Transcript, TranscriptEvent, TranscriptRound, TranscriptStep,
};
use crate::record_message::{known_as, output, step};

impl Transcript {
    /// Reads the messages of one branch of a chat, in order. Linear.
    pub fn read<'a>(chat: &ChatId, nodes: impl IntoIterator<Item = &'a Arc<Node>>) -> Self {
        Self::read_measured(chat, nodes, |_| Measures::default())
    }

    /// Reads the messages of one branch of a chat, in order, with measurements of each answer, such
    /// as its model and token usage. Calls `measures` once for each answer that is not empty.
    pub fn read_measured<'a>(
        chat: &ChatId,
        nodes: impl IntoIterator<Item = &'a Arc<Node>>,
        measures: impl FnMut(&Node) -> Measures,
    ) -> Self {
        Self::read_branch(chat, [], nodes, measures)
    }

    /// Reads the messages of a branch after its fork, `own`, with measurements of each answer. The
    /// messages before the fork, `shared`, are those of another branch, and become no rounds.
    ///
    /// If the branch continues a turn, its first round repeats what it cannot do without: the
    /// question of the turn, and its steps from the first call on that has no result before the
    /// fork. Their nodes have no measurements, so that no usage counts twice.
    pub fn read_branch<'a>(
        chat: &ChatId,
        shared: impl IntoIterator<Item = &'a Arc<Node>>,
        own: impl IntoIterator<Item = &'a Arc<Node>>,
        mut measures: impl FnMut(&Node) -> Measures,
    ) -> Self {
        let mut unmeasured = |_: &Node| Measures::default();
        let mut reader = Reader {
            chat,
            done: Self::default(),
            open: None,
            calls: HashMap::new(),
            measures: &mut unmeasured,
        };
        shared.into_iter().for_each(|node| reader.node(node));
        reader.fork();
        let mut reader = Reader { measures: &mut measures, ..reader };
        own.into_iter().for_each(|node| reader.node(node));
        reader.close();
        reader.done
    }
}

struct Reader<'a> {
    chat: &'a ChatId,
    done: Transcript,
    /// The round that is being read.
    open: Option<Draft>,
    /// The round and the time of each call. If several calls share an id, the newest one.
    calls: HashMap<Arc<str>, (usize, Timestamp)>,
    /// The callback that returns the measurements of an answer.
    measures: &'a mut dyn FnMut(&Node) -> Measures,
}

/// A round whose question may still be extended.
#[derive(Default)]
struct Draft {
    asked_at: Timestamp,
    text: String,
    links: Vec<MessageLink>,
    requests: Vec<MessageId>,
    answers: Vec<MessageId>,
    steps: Vec<TranscriptStep>,
    /// Whether everything was said before a fork.
    inherited: bool,
    /// Whether steps before a fork were left out.
    cut: bool,
    answered: bool,
    /// The calls without a result.
    waiting: HashSet<Arc<str>>,
}

impl Draft {
    fn new(asked_at: Timestamp) -> Self {
        Self { asked_at, ..Self::default() }
    }

    /// Links the repeated call whose result the branch begins with to the message of the result.
    /// Otherwise the round might stand for no message of the branch.
    fn continue_with(&mut self, call: &str, link: &MessageLink) {
        let calls = self.steps.iter_mut().rev().filter_map(|step| match &mut step.event {
            TranscriptEvent::Answer(step) => Some(step.calls.iter_mut().rev()),
            TranscriptEvent::Result { .. } => None,
        });
        if let Some(repeated) = calls.flatten().find(|known| *known.id == *call) {
            repeated.messages.push(link.clone());
            self.answers.push(link.message.clone());
        }
    }
}

impl Reader<'_> {
    fn node(&mut self, node: &Node) {
        if node.role().is_none() {
            return;
        }
        match node.message() {
            Ok(message) => self.message(node, message),
            Err(_) => self.skip(node, SkipReason::Unreadable),
        }
    }

    /// Forgets what was read, except for the open turn as far as a branch needs it to continue.
    fn fork(&mut self) {
        self.done = Transcript::default();
        self.calls.clear();
        let Some(draft) = &mut self.open else { return };
        let waits = |step: &TranscriptStep| match &step.event {
            TranscriptEvent::Answer(step) => {
                step.calls.iter().any(|call| draft.waiting.contains(&call.id))
            }
            TranscriptEvent::Result { .. } => false,
        };
        let first = draft.steps.iter().position(waits).unwrap_or(draft.steps.len());
        (draft.inherited, draft.cut) = (true, first > 0);
        draft.steps.drain(..first);
        draft.requests.clear();
        draft.answers.clear();
        for step in &draft.steps {
            let TranscriptEvent::Answer(answer) = &step.event else { continue };
            self.calls.extend(answer.calls.iter().map(|call| (call.id.clone(), (0, step.at))));
        }
    }

    fn message(&mut self, node: &Node, message: &Message) {
        // Providers without a tool role put tool results before the user's text.
        if message.role != Role::Assistant {
            self.results(node, message);
        }
        match message.role {
            Role::User if message.is_request() => self.request(node, message),
            Role::Assistant => {
                self.answer(node, message);
                self.results(node, message);
            }
            _ => {}
        }
    }

    fn request(&mut self, node: &Node, message: &Message) {
        if self.open.as_ref().is_some_and(|round| round.cut || !round.steps.is_empty()) {
            self.close();
        }
        let link = self.link(node);
        let round = self.open.get_or_insert_with(|| Draft::new(node.created_at));
        round.inherited = false;
        round.requests.push(node.id.clone());
        let text = message.plain_text();
        if !round.text.is_empty() && !text.is_empty() {
            round.text.push_str("\n\n");
        }
        round.text.push_str(&text);
        if round.links.len() < limits::MAX_PREDECESSORS {
            round.links.push(link);
        }
    }

    fn answer(&mut self, node: &Node, message: &Message) {
        let Some(mut step) = step(message, Some(&self.link(node))) else { return };
        step.measures = (self.measures)(node);
        let number = self.done.rounds.len();
        for call in step.calls.iter().filter(|call| !call.id.is_empty()) {
            self.calls.insert(call.id.clone(), (number, node.created_at));
        }
        let round = self.open.get_or_insert_with(|| Draft::new(node.created_at));
        round.inherited = false;
        round.answers.push(node.id.clone());
        round.answered = step.calls.is_empty();
        round.waiting.extend(
            step.calls.iter().filter(|call| call.invalid.is_none()).map(|call| call.id.clone()),
        );
        round.steps.push(TranscriptStep {
            at: node.created_at,
            event: TranscriptEvent::Answer(Box::new(step)),
        });
    }

    fn results(&mut self, node: &Node, message: &Message) {
        let link = self.link(node);
        for result in message.tool_results() {
            let call = known_as(&result.call_id);
            let Some((number, called_at)) = self.calls.get(&call).copied() else {
                self.skip(node, SkipReason::UnknownCall);
                continue;
            };
            let at = node.created_at;
            let event = TranscriptEvent::Result { changes: changes(result, called_at, at), call };
            let step = TranscriptStep { at, event };
            match self.done.rounds.get_mut(number) {
                Some(round) => round.steps.push(step),
                None => {
                    let open = self.open.get_or_insert_with(|| Draft::new(at));
                    if std::mem::take(&mut open.inherited) {
                        open.continue_with(&known_as(&result.call_id), &link);
                    }
                    open.waiting.remove(&known_as(&result.call_id));
                    open.steps.push(step);
                }
            }
        }
    }

    fn link(&self, node: &Node) -> MessageLink {
        MessageLink::new(self.chat.clone(), node.id.clone())
    }

    fn skip(&mut self, node: &Node, reason: SkipReason) {
        self.done.skipped.push(SkippedMessage { message: node.id.clone(), reason });
    }

    fn close(&mut self) {
        let Some(draft) = self.open.take() else { return };
        if draft.inherited {
            self.calls.clear();
            return;
        }
        let Draft { asked_at, text, links, requests, answers, steps, answered, waiting, .. } =
            draft;
        let finished = answered || !steps.is_empty() && waiting.is_empty();
        let text: Arc<str> = text.into();
        let query = links.into_iter().fold(NewQuery::new(text.clone()), NewQuery::message);
        self.done.rounds.push(TranscriptRound {
            query,
            asked_at,
            steps,
            answered,
            finished,
            text,
            requests,
            answers,
        });
    }
}

/// Returns whether a result belongs to a successful call. Many formats cannot mark failures. For
/// these the text decides: how it begins, an `error` key in a JSON object, or the exit code of a
/// program as shell tools print it.
fn succeeded(result: &ToolResult) -> bool {
    let reports_error = result.output.iter().find_map(|part| match part {
        Part::Text(text) => Some(says_error(&text.text)),
        _ => None,
    });
    !result.is_error && !reports_error.unwrap_or_default()
}

fn says_error(text: &str) -> bool {
    const ERRORS: [&str; 5] =
        ["Error:", "error:", "ERROR:", "Error ", "Traceback (most recent call last)"];
    const CODES: [&str; 2] = ["Exit code: ", "Process exited with code "];
    let text = text.trim_start();
    if text.starts_with('{') {
        return serde_json::from_str(text).is_ok_and(|entries| object_says_error(&entries));
    }
    // The exit code is printed before the output, which may contain anything.
    let code = text.lines().take(5).take_while(|line| *line != "Output:").find_map(|line| {
        CODES.iter().find_map(|begin| line.strip_prefix(begin)?.trim().parse::<i64>().ok())
    });
    code.is_some_and(|code| code != 0) || ERRORS.iter().any(|error| text.starts_with(error))
}

fn object_says_error(entries: &JsonMap) -> bool {
    let is_some = |value: &Json| {
        !matches!(value.as_str().trim(), "null" | "false" | "\"\"" | "0" | "[]" | "{}")
    };
    let metadata = || entries.get("metadata")?.parse::<JsonMap>().ok();
    ["error", "exit_code"].iter().any(|key| entries.get(*key).is_some_and(is_some))
        || metadata().is_some_and(|metadata| metadata.get("exit_code").is_some_and(is_some))
}

fn changes(result: &ToolResult, called_at: Timestamp, at: Timestamp) -> Changes {
    let changes = Changes::new().set("output", output(result)).set("success", succeeded(result));
    if at <= called_at {
        // Many formats have no times: then all messages carry the time at which they were read.
        return changes;
    }
    let mut measures = Measures::default();
    (measures.started_at, measures.ended_at) = (Some(called_at), Some(at));
    changes.measure(&measures)
}
