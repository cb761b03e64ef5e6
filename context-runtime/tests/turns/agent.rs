//! The agent that is killed.

use std::sync::Arc;

use context_runtime::model::{LanguageModel, ModelRequest};
use context_runtime::tokens::ModelCounter;
use context_runtime::{Agents, FunctionTool, ToolCall, ToolFunction, provider};
use context_simulator::{AnswerPiece, Simulator};
use serde_json::json;

pub(crate) const MODEL: &str = "claude-sonnet-4-5";
pub(crate) const USER: &str = "ada";

/// Returns a model that calls two tools and then answers.
pub(crate) fn model() -> Simulator {
    let counter = Arc::new(ModelCounter::for_model(MODEL));
    Simulator::new(provider("anthropic").unwrap(), counter).model(MODEL).behaviour(says)
}

fn says(request: &ModelRequest) -> Vec<AnswerPiece> {
    let at = request.messages.iter().rposition(|message| message.is_request()).unwrap();
    let after = &request.messages[at..];
    match after.iter().flat_map(|message| message.tool_results()).count() {
        0 => vec![
            AnswerPiece::text("I look."),
            AnswerPiece::call("weather", json!({"city": "Lisbon"})),
            AnswerPiece::call("weather", json!({"city": "Porto"})),
        ],
        _ => vec![AnswerPiece::text("It is warm in both.")],
    }
}

pub(crate) fn tool() -> ToolFunction {
    let tool = FunctionTool::new("weather", json!({"type": "object"}));
    ToolFunction::with_schema(tool, |call: ToolCall| async move { call.result("sun") })
}

pub(crate) async fn agents(url: &str, model: &Simulator) -> Agents {
    let client: Arc<dyn LanguageModel> = Arc::new(model.clone());
    Agents::open(url).await.unwrap().client(client).build().unwrap()
}
