//! Programs of one idea each, in `src/bin`. `cargo run --bin NAME` runs one offline, with a
//! simulated model whose answers stand in the program. With `CONTEXT_EXAMPLE_MODEL` set to the name
//! of a model, and the key of its vendor in the environment, that model answers instead:
//!
//! ```text
//! CONTEXT_EXAMPLE_MODEL=claude-sonnet-4-5 ANTHROPIC_API_KEY=… cargo run --bin tools
//! ```
//!
//! Only `own_client` always talks to the simulator.
//!
//! | program | shows |
//! |---|---|
//! | `streaming` | text as it arrives, and the stream that another process can follow |
//! | `tools` | async functions as tools, and approval before a tool runs |
//! | `own_client` | the turn with a program's own HTTP client and loop |
//! | `branches` | going back to a question, asking otherwise, and both branches |
//! | `compaction` | a window that fills up, the cut that makes room, and its undo |
//! | `memory` | what was said in one chat, recalled in another |
//! | `trajectory` | the recorded steps of an answer, and their drawing |
//! | `store` | a store by URL, and a chat that the next run continues |
//! | `policy` | a compaction policy of the program's own |
//! | `sub_agent` | a tool that asks an agent of its own |
//! | `server` | chats over HTTP: the events of a turn, its history, a client that goes away |
//!
//! This library only chooses the model. A program of yours names one:
//! `Agents::open(url).await?.model("claude-sonnet-4-5").build()?`.

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use context_runtime::model::{LanguageModel, ModelRequest};
use context_runtime::model_http::HttpModel;
use context_runtime::tokens::ModelCounter;
use context_runtime::{Error, Result, provider};
pub use context_simulator::{AnswerPiece, Behaviour, Simulator};
use serde_json::Value;

/// The model that is simulated. The runtime knows its window, its prices and its tokenizer.
pub const MODEL: &str = "claude-sonnet-4-5";

/// Returns the model that `CONTEXT_EXAMPLE_MODEL` names, or else a simulated one.
pub fn model(simulated: impl Behaviour + 'static) -> Result<Arc<dyn LanguageModel>> {
    match env::var("CONTEXT_EXAMPLE_MODEL") {
        Ok(name) => {
            let model = HttpModel::from_env(&name);
            Ok(Arc::new(model.map_err(|error| Error::invalid("model", error.to_string()))?))
        }
        Err(_) => Ok(Arc::new(simulator(simulated)?)),
    }
}

/// Returns a simulated provider: it checks every request against the published rules, counts its
/// tokens, and answers in the form of the real one.
pub fn simulator(answers: impl Behaviour + 'static) -> Result<Simulator> {
    let counter = Arc::new(ModelCounter::for_model(MODEL));
    Ok(Simulator::new(provider("anthropic")?, counter).model(MODEL).behaviour(answers))
}

/// Returns a behaviour that answers one request after the other, and nothing after the last answer.
pub fn script<const N: usize>(answers: [Vec<AnswerPiece>; N]) -> impl Behaviour {
    let served = AtomicUsize::new(0);
    move |_: &ModelRequest| {
        answers.get(served.fetch_add(1, Ordering::Relaxed)).cloned().unwrap_or_default()
    }
}

/// Returns an answer of text.
pub fn text(text: &str) -> Vec<AnswerPiece> {
    vec![AnswerPiece::text(text)]
}

/// Returns an answer that calls a tool.
pub fn call(tool: &str, input: Value) -> Vec<AnswerPiece> {
    vec![AnswerPiece::call(tool, input)]
}
