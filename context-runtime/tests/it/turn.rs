//! Turns: what is stored and recorded when, the ways out, limits, streams, tools.

mod at_provider;
mod cache_report;
mod durable;
mod history_tools;
mod joined;
mod memory_uses;
#[cfg(feature = "metrics")]
mod metrics;
mod observed;
mod observer;
mod one_life;
mod streaming;
mod tools;
mod ways_out;
mod written_in;

use std::sync::Arc;

use context_runtime::model::{LanguageModel, ModelRequest};
use context_runtime::store::Node;
use context_runtime::tokens::ModelCounter;
use context_runtime::trajectory::{Round, RoundState, Trajectories};
use context_runtime::{
    AgentChat, Agents, AgentsBuilder, CallOptions, FunctionTool, Role, Store, provider,
};
use context_simulator::{AnswerPiece, Behaviour, ProviderFault, Simulator};
use serde_json::json;

use crate::kit::{CountingIds, TickingClock};

pub(crate) const MODEL: &str = "claude-sonnet-4-5";

/// Returns a simulated provider of the model.
pub(crate) fn simulator(says: impl Behaviour + 'static) -> Simulator {
    let counter = Arc::new(ModelCounter::for_model(MODEL));
    Simulator::new(provider("anthropic").unwrap(), counter)
        .window(200_000)
        .model(MODEL)
        .behaviour(says)
}

/// Answers at once.
pub(crate) fn done(_: &ModelRequest) -> Vec<AnswerPiece> {
    vec![AnswerPiece::text("Done.")]
}

/// Calls `weather` for two cities, then answers.
pub(crate) fn asks_twice(request: &ModelRequest) -> Vec<AnswerPiece> {
    let results = request.messages.iter().flat_map(|message| message.tool_results()).count();
    match results {
        0 => vec![
            AnswerPiece::text("I look."),
            AnswerPiece::call("weather", json!({"city": "Lisbon"})),
            AnswerPiece::call("weather", json!({"city": "Porto"})),
        ],
        _ => vec![AnswerPiece::text(format!("{results} cities."))],
    }
}

pub(crate) fn weather() -> FunctionTool {
    FunctionTool::new("weather", json!({"type": "object"})).description("Returns the weather.")
}

pub(crate) fn builder(store: &Arc<dyn Store>) -> AgentsBuilder {
    let quick = CallOptions::new().first_wait(std::time::Duration::ZERO);
    Agents::builder(Arc::clone(store))
        .model(MODEL)
        .calls(quick)
        .clock(TickingClock::default())
        .ids(CountingIds::default())
}

pub(crate) fn agents(store: &Arc<dyn Store>, model: Simulator) -> Agents {
    let model: Arc<dyn LanguageModel> = Arc::new(model);
    builder(store).client(model).build().unwrap()
}

pub(crate) async fn chat(agents: &Agents) -> AgentChat {
    agents.chat("ada", "lisbon").await.unwrap()
}

/// Returns the stored messages: the role and the text, or the outputs, of each.
pub(crate) async fn stored(store: &Arc<dyn Store>) -> Vec<String> {
    let agents = builder(store).build().unwrap();
    let mut chat = chat(&agents).await;
    let shown = chat.engine_mut().resolve().await.unwrap();
    shown.messages.iter().map(|node| line(node)).collect()
}

fn line(node: &Node) -> String {
    let message = node.message().unwrap();
    let outputs: Vec<_> = message
        .tool_results()
        .flat_map(|result| result.output.iter())
        .filter_map(|part| match part {
            context_runtime::Part::Text(text) => Some(text.text.clone()),
            _ => None,
        })
        .collect();
    match message.role {
        Role::Tool => format!("tool: {}", outputs.join(" | ")),
        role => format!("{role}: {}", message.plain_text()),
    }
}

/// Returns the stored rounds of the chat, oldest first.
pub(crate) async fn rounds(store: &Arc<dyn Store>) -> Vec<Arc<Round>> {
    let trajectories = Trajectories::new(Arc::clone(store)).unwrap();
    let agent = context_runtime::trajectory::AgentRef::main("ada", "lisbon");
    let trajectory = trajectories.trajectory(&agent).await.unwrap();
    trajectory.rounds().cloned().collect()
}

pub(crate) async fn states(store: &Arc<dyn Store>) -> Vec<RoundState> {
    rounds(store).await.iter().map(|round| round.state()).collect()
}

pub(crate) fn faulty(
    faults: impl IntoIterator<Item = ProviderFault>,
    says: impl Behaviour + 'static,
) -> Simulator {
    simulator(says).script(faults.into_iter().collect::<context_simulator::Script>())
}
