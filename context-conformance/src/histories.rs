//! Random conversations and typical damage to them: strategies for property tests of codecs and
//! stores.
//!
//! [`histories`] are valid: every call has its result, no message is blank, the user begins. They
//! contain every kind of part: parallel calls, thinking blocks that several providers signed or
//! encrypted, blocks that only one provider understands, media as data and by URL, system messages
//! in the middle, synthetic messages. [`plain`] histories contain only text and calls, which every
//! provider can represent.
//!
//! [`Damage`] is data. Each variant is one thing that goes wrong in practice: aborted runs,
//! truncated windows, two writers. [`damaged`] generates histories after some damage,
//! [`damaged_media`] histories with media whose content does not match its type, and [`requests`]
//! whole requests with such a history.
//!
//! ```
//! use context_conformance::histories::histories;
//! use context_codec_kit::normalize::{HistoryRules, normalize};
//! use context_core::model::Unanswered;
//! use proptest::prelude::*;
//!
//! proptest!(|(history in histories())| {
//!     let sent = normalize(&history, &HistoryRules::new(), Unanswered::Answer, false);
//!     prop_assert!(sent.diagnostics.is_empty());
//! });
//! ```

mod damage;
mod media;
mod parts;
mod requests;

use context_core::message::Origin;
use std::sync::Arc;

use context_core::{Json, Message, Metadata, Part, Role, ToolResult};
pub use damage::{Damage, damages};
pub use media::damaged_media;
pub use parts::TOOLS;
use proptest::collection::vec;
use proptest::prelude::*;
pub use requests::requests;

/// A conversation, as a list of messages.
pub type MessageList = Vec<Arc<Message>>;

/// The kinds of content of a generated history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HistoryContent {
    /// Text and calls only.
    Plain,
    /// Every kind of part.
    Everything,
}

/// Generates valid histories with every kind of part.
pub fn histories() -> impl Strategy<Value = MessageList> {
    of(HistoryContent::Everything)
}

/// Generates valid histories of text and calls, in which user and assistant alternate. They end
/// with a user message or with results.
pub fn plain() -> impl Strategy<Value = MessageList> {
    of(HistoryContent::Plain).prop_map(|mut history| {
        while history.last().is_some_and(|last| last.role == Role::Assistant) {
            history.pop();
        }
        history
    })
}

/// Generates histories after up to six damages, together with the damages.
pub fn damaged() -> impl Strategy<Value = (MessageList, Vec<Damage>)> {
    (histories(), damages()).prop_map(|(mut history, damages)| {
        damages.iter().for_each(|damage| damage.apply(&mut history));
        (history, damages)
    })
}

/// A piece of a conversation, before calls have ids.
#[derive(Clone, Debug)]
enum Turn {
    User(Vec<Part>),
    Synthetic(String),
    System(String),
    Assistant { steps: Vec<Step>, end: Vec<Part> },
}

/// Calls of the assistant and the results of the tools.
#[derive(Clone, Debug)]
struct Step {
    before: Vec<Part>,
    calls: Vec<Call>,
    /// Whether each result has a message of its own.
    apart: bool,
    /// Whether results come in reverse order.
    backwards: bool,
}

#[derive(Clone, Debug)]
struct Call {
    name: &'static str,
    input: Json,
    output: Vec<Part>,
    is_error: bool,
}

fn of(content: HistoryContent) -> impl Strategy<Value = MessageList> {
    let system = vec(parts::words(), 0..2);
    (system, parts::user(content), vec(turn(content), 0..6), parts::id_style()).prop_map(
        move |(system, first, turns, style)| {
            let mut build = Build { messages: Vec::new(), style, calls: 0 };
            build.messages.extend(system.into_iter().map(|text| Message::text(Role::System, text)));
            build.turn(Turn::User(first));
            let mut user_spoke = true;
            for turn in turns {
                // In a plain history, the roles alternate.
                let by_assistant = matches!(turn, Turn::Assistant { .. });
                if content == HistoryContent::Everything || by_assistant == user_spoke {
                    build.turn(turn);
                    user_spoke = !by_assistant;
                }
            }
            build.messages.into_iter().map(Arc::new).collect()
        },
    )
}

fn turn(content: HistoryContent) -> BoxedStrategy<Turn> {
    let user = parts::user(content).prop_map(Turn::User);
    let assistant = (vec(step(content), 0..3), parts::assistant(content))
        .prop_map(|(steps, end)| Turn::Assistant { steps, end });
    match content {
        HistoryContent::Plain => prop_oneof![user, assistant].boxed(),
        HistoryContent::Everything => prop_oneof![
            4 => user,
            6 => assistant,
            1 => parts::words().prop_map(Turn::Synthetic),
            1 => parts::words().prop_map(Turn::System),
        ]
        .boxed(),
    }
}

fn step(content: HistoryContent) -> impl Strategy<Value = Step> {
    (parts::before_calls(content), vec(call(content), 1..4), any::<bool>(), any::<bool>()).prop_map(
        move |(before, calls, apart, backwards)| {
            // Some providers take all results in one message, and lowering reports a diagnostic if
            // it had to join them.
            let apart = apart && content == HistoryContent::Everything;
            Step { before, calls, apart, backwards }
        },
    )
}

fn call(content: HistoryContent) -> impl Strategy<Value = Call> {
    let is_error = prop::bool::weighted(0.2);
    (parts::tool_name(), parts::input(), parts::output(content), is_error)
        .prop_map(|(name, input, output, is_error)| Call { name, input, output, is_error })
}

struct Build {
    messages: Vec<Message>,
    style: &'static str,
    calls: usize,
}

impl Build {
    fn turn(&mut self, turn: Turn) {
        match turn {
            Turn::User(parts) => self.messages.push(Message::new(Role::User, parts)),
            Turn::Synthetic(text) => {
                let message = Message::text(Role::User, text);
                self.messages.push(message.with_origin_record(Origin::Synthetic, "a reminder"));
            }
            Turn::System(text) => self.messages.push(Message::text(Role::System, text)),
            Turn::Assistant { steps, end } => {
                steps.into_iter().for_each(|step| self.step(step));
                self.messages.push(Message::new(Role::Assistant, end));
            }
        }
    }

    fn step(&mut self, step: Step) {
        let (mut assistant, mut results) = (step.before, Vec::new());
        for call in step.calls {
            let id = format!("{}{:03}", self.style, self.calls);
            self.calls += 1;
            assistant.push(Part::tool_call(id.as_str(), call.name, call.input));
            results.push(Part::ToolResult(ToolResult {
                call_id: id,
                name: self.calls.is_multiple_of(2).then(|| call.name.to_owned()),
                output: call.output,
                is_error: call.is_error,
                metadata: Metadata::default(),
            }));
        }
        self.messages.push(Message::new(Role::Assistant, assistant));
        if step.backwards {
            results.reverse();
        }
        if step.apart {
            self.messages
                .extend(results.into_iter().map(|result| Message::new(Role::Tool, [result])));
        } else {
            self.messages.push(Message::new(Role::Tool, results));
        }
    }
}
