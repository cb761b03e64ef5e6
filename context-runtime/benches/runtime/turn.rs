//! A turn of an agent with one tool call, on SQLite: against the same by hand through the parts,
//! and with recording against without it.

use std::hint::black_box;
use std::sync::Arc;

use context_runtime::model::ModelCodec;
use context_runtime::trajectory::{AgentRef, RecordedMessage, Trajectories};
use context_runtime::{
    AgentChat, Agents, ContextEngine, DefaultContextRuntime, FunctionTool, Message, ModelCall,
    Store, Tool, compaction, provider,
};

use crate::board::{Board, Row};
use crate::data::PROMPT;
use crate::options::Options;

const PARTS: &str = "turn of an agent, against its parts";
const RECORDED: &str = "turn with recording, against one without";
/// The turns of a chat before it is measured.
const WARM_UP: usize = 20;
/// The turns that a paired round runs.
const TURNS: usize = 25;
/// A question, a conclusion, an action and a response.
const NODES: f64 = 4.0;
const MODEL: &str = "claude-sonnet-4-5";
const CALLS: &str = r#"{"role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"I look it up."},{"type":"tool_use","id":"ID","name":"weather","input":{"city":"Lisbon"}}],"stop_reason":"tool_use","usage":{"input_tokens":900,"output_tokens":30}}"#;
const ANSWERS: &str = r#"{"role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"It is warm, and the train leaves at nine."}],"stop_reason":"end_turn","usage":{"input_tokens":950,"output_tokens":20}}"#;

/// Measures both rows.
pub(crate) async fn measure(board: &mut Board, options: &Options) {
    if options.has(PARTS) {
        against_parts(board, options.rounds).await;
    }
    if options.has(RECORDED) {
        recording(board, options.rounds).await;
    }
}

async fn against_parts(board: &mut Board, rounds: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (ours, floor) = (open(&folder, "agents").await, open(&folder, "parts").await);
    let agents = Agents::builder(ours).model(MODEL).build().unwrap();
    let mut row = Row::new(PARTS, TURNS, "us", Some(1.1)).skip_first(2);
    for round in 0..rounds.max(15) + 2 {
        let mut chat = agents.chat("ada", format!("chat-{round}")).await.unwrap();
        turns(&mut chat, WARM_UP).await;
        let mut parts = ByHand::open(&floor, round).await;
        parts.turns(WARM_UP).await;
        row.ours(TURNS, turns(&mut chat, TURNS)).await;
        row.floor(TURNS, parts.turns(TURNS)).await;
    }
    board.add(row);
}

async fn recording(board: &mut Board, rounds: usize) {
    let folder = tempfile::tempdir().unwrap();
    let agents =
        |store, record| Agents::builder(store).model(MODEL).record(record).build().unwrap();
    let with = agents(open(&folder, "with").await, true);
    let without = agents(open(&folder, "without").await, false);
    let mut row = Row::new(RECORDED, TURNS, "us", None).skip_first(2);
    for round in 0..rounds.max(15) + 2 {
        let name = format!("chat-{round}");
        let mut recorded = with.chat("ada", &*name).await.unwrap();
        let mut plain = without.chat("ada", &*name).await.unwrap();
        turns(&mut recorded, WARM_UP).await;
        turns(&mut plain, WARM_UP).await;
        row.ours(TURNS, turns(&mut recorded, TURNS)).await;
        row.floor(TURNS, turns(&mut plain, TURNS)).await;
    }
    board.add_with_share(row, NODES, "a recorded node", 60.0);
}

async fn open(folder: &tempfile::TempDir, name: &str) -> Arc<dyn Store> {
    let path = folder.path().join(name);
    context_runtime::open(&format!("sqlite:{}", path.display())).await.unwrap()
}

fn weather() -> Tool {
    FunctionTool::new("weather", serde_json::json!({"type": "object"})).into()
}

fn question(turn: usize) -> String {
    format!("{turn}: How is the weather in Lisbon? {PROMPT}")
}

/// Returns the reply to the call of a turn with this number, from 1.
fn reply(turn: usize, call: usize) -> String {
    match call {
        1 => CALLS.replace("ID", &format!("call-{turn}")),
        _ => ANSWERS.to_owned(),
    }
}

async fn turns(chat: &mut AgentChat, turns: usize) {
    for at in 0..turns {
        let mut turn = chat.turn(question(at)).tools([weather()]).begin().await.unwrap();
        let mut calls = 0;
        while let Some(request) = turn.next().await.unwrap() {
            black_box(request.body());
            calls += 1;
            turn.received(200, &reply(at, calls));
            for call in turn.tool_calls() {
                turn.result(call.result("18 °C"));
            }
        }
        black_box(turn.finish().await.unwrap());
    }
}

/// The parts of a chat, joined by hand: as much is stored and recorded as by a turn.
struct ByHand {
    engine: ContextEngine,
    runtime: DefaultContextRuntime,
    codec: Arc<dyn ModelCodec>,
    trajectories: Trajectories,
    agent: AgentRef,
}

impl ByHand {
    async fn open(store: &Arc<dyn Store>, round: usize) -> Self {
        let chat = format!("chat-{round}");
        let engine = ContextEngine::builder(Arc::clone(store)).user("ada").chat(&*chat);
        let stages = [compaction::microcompact(), compaction::snip(), compaction::truncate_head()];
        Self {
            engine: engine.open().await.unwrap(),
            runtime: DefaultContextRuntime::builder()
                .model(MODEL)
                .compaction(stages)
                .spill(Arc::clone(store))
                .build()
                .unwrap(),
            codec: provider("anthropic").unwrap(),
            trajectories: Trajectories::new(Arc::clone(store)).unwrap(),
            agent: AgentRef::main("ada", chat),
        }
    }

    async fn turns(&mut self, turns: usize) {
        for at in 0..turns {
            self.turn(at).await;
        }
    }

    async fn turn(&mut self, at: usize) {
        let Self { engine, runtime, codec, trajectories, agent } = self;
        let chat = engine.chat_ref().chat.clone();
        let question = Message::from(question(at));
        engine.set([question.clone()]);
        let id = engine.save().await.unwrap().head.unwrap();
        let round = trajectories.begin(agent).await.unwrap();
        let asked = RecordedMessage::new(&question).link(chat.clone(), id);
        round.record(asked).await.unwrap();
        for step in 1.. {
            let resolved = engine.resolve().await.unwrap();
            let input = resolved.prepare().tools([weather()]);
            let mut call = ModelCall::new(runtime, Arc::clone(codec), input);
            while let Some(request) = call.next().await.unwrap() {
                black_box(request.body());
                call.received(200, &reply(at, step));
            }
            let answer = engine.accept(&resolved, &call).await.unwrap();
            let id = engine.pending().last().unwrap();
            let results: Vec<_> =
                answer.message.tool_calls().map(|call| call.result("18 °C")).collect();
            let is_last = results.is_empty();
            if !is_last {
                let _output = engine.set_tool_results(runtime, results.clone()).await.unwrap();
            }
            engine.save().await.unwrap();
            let mut recorded = RecordedMessage::of_answer(answer)
                .link(chat.clone(), id)
                .provider(codec.name())
                .usage(&call.usage());
            recorded = call.cost_usd().into_iter().fold(recorded, RecordedMessage::cost);
            round.record(recorded).await.unwrap();
            if is_last {
                break;
            }
            round.record(&Message::tool(results)).await.unwrap();
        }
        round.finish().await.unwrap();
    }
}
