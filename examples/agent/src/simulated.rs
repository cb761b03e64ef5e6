//! An in-process provider: it checks every request against the published rules, counts its tokens,
//! refuses with real error texts, and has a model whose answers are written here.

use std::sync::Arc;

use context_runtime::model::{LanguageModel, ModelRequest};
use context_runtime::tokens::ModelCounter;
use context_runtime::{Message, READ_SPILLED, Result, provider};
use context_simulator::{AnswerPiece, Simulator};
use serde_json::json;

/// The model that is simulated. The runtime knows its window, its prices and its tokenizer.
const MODEL: &str = "claude-sonnet-4-5";

/// Creates a model whose window is far smaller than the runtime believes, as behind a proxy, with a
/// trial account, or with an outdated table of models.
pub fn model() -> Result<Arc<dyn LanguageModel>> {
    let counter = Arc::new(ModelCounter::for_model(MODEL));
    let simulator = Simulator::new(provider("anthropic")?, counter);
    Ok(Arc::new(simulator.model(MODEL).window(5_000).behaviour(says)))
}

/// Returns the answer of the model to a request, based on the questions and on the last call.
fn says(request: &ModelRequest) -> Vec<AnswerPiece> {
    let said: String = request.messages.iter().map(|message| message.plain_text() + "\n").collect();
    let calls = request.messages.iter().flat_map(|message| message.tool_calls());
    let called = calls.last().map(|call| &*call.name);
    let answer = request.messages.last().map(|message| results(message)).unwrap_or_default();
    if said.contains("Douro") {
        return vec![AnswerPiece::text(match said.contains("Is there a train") {
            true => {
                "You told me that you get seasick. The river is calm, but take the train along it."
            }
            false => "I do not know.",
        })];
    }
    match called {
        None => vec![
            AnswerPiece::text("I look into your notes."),
            AnswerPiece::call("read_note", json!({"name": "trip.md"})),
            AnswerPiece::call("count_words", json!({"name": "budget.md"})),
        ],
        Some(_) if said.contains("train") => {
            vec![AnswerPiece::text(
                "Yes, over the bridge. Your notes plan a ferry: I would change that.",
            )]
        }
        Some("count_words") => vec![AnswerPiece::call("timetable", json!({"days": 365}))],
        Some("timetable") => {
            let blob =
                answer.find("blob:").and_then(|at| answer.get(at..at + 69)).unwrap_or("blob:none");
            vec![AnswerPiece::call(
                READ_SPILLED,
                json!({"reference": blob, "start": 1_100, "end": 1_900}),
            )]
        }
        Some(_) => {
            let ferry = answer.lines().find(|line| line.contains("Friday")).unwrap_or("none");
            vec![AnswerPiece::text(format!("The first one is on {ferry}."))]
        }
    }
}

/// Returns the output of the tools in a message.
fn results(message: &Message) -> String {
    let outputs = message.tool_results().flat_map(|result| result.output.clone());
    Message::from(outputs.collect::<Vec<_>>()).plain_text().into_owned()
}
