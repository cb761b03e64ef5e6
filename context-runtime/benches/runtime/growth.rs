//! What new messages cost in a long conversation, compared with the same in one of a thousand.
//!
//! A prepared call, a captured turn and applied results of tools are measured through the runtime;
//! a whole turn of an agent, with a tool, memory and recording, over a store in memory. The model
//! is a test double that is handed the request, so no body is written in a provider's form: a body
//! has all that is sent, and so takes time for all of it. The window is larger than any
//! conversation here, and the conversations have no cuts, which is the worst case.

use std::hint::black_box;
use std::sync::Arc;

use async_trait::async_trait;
use context_runtime::memory::{CapturedTurn, MemoryProvider, RecallQuery, Recalled};
use context_runtime::model::{Answer, LanguageModel, ModelError, ModelRequest};
use context_runtime::store::{Chain, MemoriesForgotten, MemoryForget, Node};
use context_runtime::{
    AgentChat, Agents, CancelSignal, CaptureTurnInput, ContextEngine, ContextRuntime,
    DefaultContextRuntime, Fragment, FunctionTool, Message, Messages, Part, PrepareInput, Result,
    Role, Timestamp, ToolCall, ToolFunction, ToolResultInput,
};

use crate::board::{Board, Row};
use crate::data::{MODEL, PROMPT, history, talk, tools};
use crate::options::Options;

const PREPARE: &str = "prepare, one new, against 1,000";
const RESULTS: &str = "apply tool results, against 1,000";
const CAPTURE: &str = "capture a turn, against 1,000";
const TURN: &str = "turn of an agent, against 1,000";
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
const TARGET: f64 = 1.5;
/// Larger than any history here.
const WINDOW: u64 = 1_000_000_000;
/// The calls that are measured at once.
const CALLS: usize = 10;

/// Measures each row at each size.
pub(crate) async fn measure(board: &mut Board, options: &Options) {
    for size in SIZES {
        for case in [PREPARE, RESULTS, CAPTURE].into_iter().filter(|case| options.has(case)) {
            let (mut ours, mut floor) = (Talk::seen(size).await, Talk::seen(1_000).await);
            let mut row = row(case, size);
            ours.go_on(case, 1).await;
            floor.go_on(case, 1).await;
            for _ in 0..=options.rounds {
                row.ours(CALLS, ours.go_on(case, CALLS)).await;
                row.floor(CALLS, floor.go_on(case, CALLS)).await;
            }
            board.add(row);
        }
        if options.has(TURN) {
            let (mut ours, mut floor) = (chat(size).await, chat(1_000).await);
            let mut row = row(TURN, size);
            turns(&mut ours, 2).await;
            turns(&mut floor, 2).await;
            for _ in 0..=options.rounds {
                row.ours(CALLS, turns(&mut ours, CALLS)).await;
                row.floor(CALLS, turns(&mut floor, CALLS)).await;
            }
            board.add(row);
        }
    }
}

fn row(case: &'static str, size: usize) -> Row {
    Row::new(case, size, "us", Some(TARGET)).skip_first(1)
}

/// A conversation that a runtime has seen.
struct Talk {
    runtime: DefaultContextRuntime,
    nodes: Chain,
    messages: Messages,
    next: usize,
}

impl Talk {
    async fn seen(size: usize) -> Self {
        let runtime = DefaultContextRuntime::builder().memory(Nothing).build().unwrap();
        let nodes = history(size).into_iter().enumerate();
        let nodes = Chain::from_nodes(0, nodes.map(|(at, message)| node(at, message)));
        let messages = nodes.messages();
        let talk = Self { runtime, nodes, messages, next: size };
        drop(talk.runtime.prepare_for_model(talk.input()).await.unwrap());
        talk
    }

    fn input(&self) -> PrepareInput {
        PrepareInput::new(("ada", "s"), "t", "openai", MODEL)
            .system(PROMPT.repeat(20))
            .tools(tools())
            .conversation(self.messages.clone())
            .window(WINDOW)
    }

    async fn go_on(&mut self, case: &str, times: usize) {
        for _ in 0..times {
            match case {
                PREPARE => self.prepare().await,
                RESULTS => self.apply_results().await,
                _ => self.capture().await,
            }
        }
    }

    fn new_message(&mut self, role: Role) -> Arc<Message> {
        self.next += 1;
        Arc::new(Message::text(role, format!("{}: {PROMPT}", self.next)))
    }

    async fn prepare(&mut self) {
        let new = self.new_message(Role::Assistant);
        self.messages.push(new);
        let _context = black_box(self.runtime.prepare_for_model(self.input()).await.unwrap());
    }

    async fn apply_results(&mut self) {
        self.next += 1;
        let id = format!("call_{}", self.next);
        let call = Part::tool_call(id.clone(), "read_file", serde_json::json!({}));
        self.messages.push(Arc::new(Message::new(Role::Assistant, [call])));
        let results = Message::new(Role::Tool, [Part::tool_result(id, PROMPT)]);
        let input = ToolResultInput::new(("ada", "s"), "t", self.messages.clone(), results);
        self.messages = self.runtime.apply_tool_results(input).await.unwrap().messages;
    }

    async fn capture(&mut self) {
        for role in [Role::User, Role::Assistant] {
            let message = self.new_message(role);
            self.nodes.push(node(self.next, message));
        }
        let input = CaptureTurnInput::of_chain(("ada", "s"), "t", self.nodes.clone());
        assert!(self.runtime.capture_turn(input).await.unwrap().is_empty());
    }
}

fn node(at: usize, message: Arc<Message>) -> Arc<Node> {
    Arc::new(Node::new(format!("m{at}"), message, Timestamp::from_micros(at as i64)))
}

/// Opens the chat of an agent with this many messages.
async fn chat(size: usize) -> AgentChat {
    let store = context_runtime::open("mem:").await.unwrap();
    let mut engine =
        ContextEngine::builder(Arc::clone(&store)).user("ada").chat("s").open().await.unwrap();
    for messages in talk(size).chunks(1_000) {
        engine.set(messages.iter().map(|message| Fragment::from(Arc::clone(message))));
        engine.save().await.unwrap();
    }
    drop(engine);
    let agents = Agents::builder(store)
        .client(Arc::new(Scripted))
        .memory(Nothing)
        .runtime(|runtime| runtime.window(WINDOW))
        .build()
        .unwrap();
    agents.chat("ada", "s").await.unwrap()
}

async fn turns(chat: &mut AgentChat, turns: usize) {
    let tool = FunctionTool::new("weather", serde_json::json!({"type": "object"}));
    let weather =
        ToolFunction::with_schema(tool, |call: ToolCall| async move { call.result("18 °C") });
    for at in 0..turns {
        let question = format!("{at}: How is the weather in Lisbon? {PROMPT}");
        black_box(chat.ask(question).tools([weather.clone()]).await.unwrap());
    }
}

/// Calls a tool for each question, and answers when it has the result.
#[derive(Debug)]
struct Scripted;

#[async_trait]
impl LanguageModel for Scripted {
    fn name(&self) -> &str {
        MODEL
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        _: &CancelSignal,
    ) -> Result<Answer, ModelError> {
        let is_asked = request.messages.last().is_some_and(|message| message.role == Role::User);
        let id = format!("call-{}", request.messages.len());
        Ok(Answer::new(match is_asked {
            true => {
                let call = Part::tool_call(id, "weather", serde_json::json!({"city": "Lisbon"}));
                Message::new(Role::Assistant, [Part::text("I look it up."), call])
            }
            false => Message::text(Role::Assistant, "It is warm, and the train leaves at nine."),
        }))
    }
}

/// A memory that keeps nothing.
#[derive(Debug)]
struct Nothing;

#[async_trait]
impl MemoryProvider for Nothing {
    async fn recall(&self, query: &RecallQuery, _: &CancelSignal) -> Result<Recalled> {
        black_box(query.recent.last());
        Ok(Recalled::default())
    }

    async fn capture(&self, turn: &CapturedTurn, _: &CancelSignal) -> Result<()> {
        black_box(turn.messages.len());
        Ok(())
    }

    async fn forget(&self, _: &MemoryForget) -> Result<MemoriesForgotten> {
        Ok(MemoriesForgotten::default())
    }
}
