//! Reading messages into steps.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::base::{JsonMap, limits};
use context_core::trajectory::{Changes, Measures, MessageLink, NewQuery};
use context_core::{ChatId, Json, Message, Node, Part, Role, Timestamp, ToolResult};

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
        mut measures: impl FnMut(&Node) -> Measures,
    ) -> Self {
        let mut reader = Reader {
            chat,
            done: Self::default(),
            open: None,
            calls: HashMap::new(),
            measures: &mut measures,
        };
        for node in nodes {
            if node.role().is_none() {
                continue;
            }
            match node.message() {
                Ok(message) => reader.message(node, message),
                Err(_) => reader.skip(node, SkipReason::Unreadable),
            }
        }
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
    steps: Vec<TranscriptStep>,
    answered: bool,
    /// The calls without a result.
    waiting: HashSet<Arc<str>>,
}

impl Draft {
    fn new(asked_at: Timestamp) -> Self {
        Self { asked_at, ..Self::default() }
    }
}

impl Reader<'_> {
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
        if self.open.as_ref().is_some_and(|round| !round.steps.is_empty()) {
            self.close();
        }
        let link = self.link(node);
        let round = self.open.get_or_insert_with(|| Draft::new(node.created_at));
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
        let Draft { asked_at, text, links, steps, answered, waiting } = draft;
        let finished = answered || !steps.is_empty() && waiting.is_empty();
        let query = links.into_iter().fold(NewQuery::new(text), NewQuery::message);
        self.done.rounds.push(TranscriptRound { query, asked_at, steps, answered, finished });
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
