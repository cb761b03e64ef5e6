//! A recorded conversation as a script of changes to the rounds of an agent, step by step.

use std::path::Path;
use std::sync::Arc;

use context_runtime::trajectory::{NewQuery, RoundState, Transcript, TranscriptStep};
use context_runtime::{ChatId, Message, Role, Timestamp, store::Node, trajectory::AgentRef};
use context_simulator::conversations::conversations;

/// The folders whose conversations are used.
const FOLDERS: [&str; 2] = ["tau-bench/", "swe-agent/"];
/// The number of answers in a round, for a conversation with one request.
const ANSWERS: usize = 3;

/// The steps, in order.
pub(crate) struct Script {
    pub(crate) name: String,
    /// The messages, split into several requests.
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) agent: AgentRef,
    pub(crate) steps: Vec<Step>,
}

/// A change of a round, which is one commit.
pub(crate) struct Step {
    pub(crate) round: u32,
    pub(crate) event: Event,
}

pub(crate) enum Event {
    Ask(NewQuery),
    Step(Box<TranscriptStep>),
    Close(RoundState),
}

/// Returns the scripts of all conversations.
pub(crate) fn all(folder: &Path) -> Vec<Script> {
    let mut found = conversations(folder);
    found.retain(|chat| FOLDERS.iter().any(|folder| chat.name.starts_with(folder)));
    found
        .into_iter()
        .map(|chat| Script::of(chat.name, in_several_requests(&chat.messages)))
        .collect()
}

impl Script {
    pub(crate) fn of(name: String, messages: Vec<Arc<Message>>) -> Self {
        let agent = AgentRef::main("ada", &*name);
        Self { agent, steps: steps(&messages), name, messages }
    }
}

/// An agent that works on a repository is asked once. This splits the conversation by requests to
/// continue, as after a step limit.
fn in_several_requests(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let first = messages
        .iter()
        .position(|message| message.role == Role::Assistant)
        .unwrap_or(messages.len());
    let several = messages.iter().skip(first).any(|message| message.role == Role::User);
    let mut answers = 0;
    let mut out = Vec::new();
    for message in messages {
        if message.role == Role::Assistant && !several {
            if answers > 0 && answers % ANSWERS == 0 {
                out.push(Arc::new(Message::from("Go on.")));
            }
            answers += 1;
        }
        out.push(message.clone());
    }
    out
}

fn steps(messages: &[Arc<Message>]) -> Vec<Step> {
    let nodes: Vec<Arc<Node>> = (0..)
        .zip(messages)
        .map(|(n, message)| {
            Arc::new(Node::new(format!("m{n}"), message.clone(), Timestamp::from_micros(1 + n)))
        })
        .collect();
    let transcript = Transcript::read(&ChatId::from("recorded"), &nodes);
    assert_eq!(transcript.skipped, [], "a message has no place");
    let mut steps = Vec::new();
    for (round, source) in (0..).zip(transcript.rounds) {
        let mut add = |event| steps.push(Step { round, event });
        add(Event::Ask(source.query));
        source.steps.into_iter().for_each(|step| add(Event::Step(Box::new(step))));
        add(Event::Close(if source.answered {
            RoundState::Closed
        } else {
            RoundState::Interrupted
        }));
    }
    steps
}
