//! Models and embedders over real connections: to the kit's simulator, and to servers that
//! misbehave.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod answers;
mod cancels;
mod discreet;
mod embeds;
mod environment;
mod hostile;
mod proxies;
mod refusals;
mod retries;
mod setup;
mod streams;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use context_codec_anthropic::messages::MessagesCodec;
use context_codec_gemini::generate::GenerateCodec;
use context_codec_openai::chat::ChatCodec;
use context_codec_openai::responses::ResponsesCodec;
use context_core::message::Media;
use context_core::model::{
    AnswerDelta, FunctionTool, LanguageModel, ModelCodec, TokenCount, TokenCounter,
};
use context_core::{Answer, CancelSignal, Json, Message, ModelError, ModelRequest};
use context_http::Pauses;
use context_model_http::{Endpoint, HttpModel};
use context_simulator::http::{BadServer, HttpFace, HttpServer, Misbehaviour};
use context_simulator::{AnswerPiece, Simulator};
use serde_json::json;

/// The key of every test.
pub(crate) const KEY: &str = "hush-0123456789";

/// The wire forms, by the names of their codecs.
pub(crate) const FORMS: [&str; 4] = ["openai", "openai-responses", "anthropic", "gemini"];

/// A counter of one token per four bytes.
#[derive(Debug)]
struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &str {
        "quarters"
    }

    fn count(&self, text: &str) -> TokenCount {
        TokenCount::exact(text.len().div_ceil(4) as u64)
    }

    fn count_media(&self, _kind: context_core::model::MediaKind, _media: &Media) -> TokenCount {
        TokenCount::exact(100)
    }
}

fn codec(form: &str) -> Arc<dyn ModelCodec> {
    match form {
        "openai" => Arc::new(ChatCodec),
        "openai-responses" => Arc::new(ResponsesCodec),
        "gemini" => Arc::new(GenerateCodec),
        _ => Arc::new(MessagesCodec),
    }
}

pub(crate) fn simulator(form: &str) -> Simulator {
    Simulator::new(codec(form), Arc::new(Quarters))
}

/// Returns a simulator that sends a thought, text and calls.
pub(crate) fn talkative(form: &str) -> Simulator {
    simulator(form).behaviour(|_: &ModelRequest| {
        vec![
            AnswerPiece::thought("They did not say which seat. I ask, and look meanwhile."),
            AnswerPiece::text("Window or aisle? „Fenster oder Gang?“ 🚆 I look up the trains."),
            AnswerPiece::call(
                "look",
                json!({"from": "Berlin", "to": "Lisbon", "note": "a \"quoted\" word"}),
            ),
        ]
    })
}

/// Returns the model of this form at an address without a version.
pub(crate) fn model(form: &str, url: &str, change: impl FnOnce(Endpoint) -> Endpoint) -> HttpModel {
    let version = if form == "gemini" { "v1beta" } else { "v1" };
    let endpoint = change(Endpoint::at(format!("{url}/{version}")).key(KEY));
    match form {
        "openai" => HttpModel::chat("a-model", endpoint),
        "openai-responses" => HttpModel::responses("a-model", endpoint),
        "gemini" => HttpModel::generate_content("a-model", endpoint),
        _ => HttpModel::messages("a-model", endpoint),
    }
    .unwrap()
}

/// Returns a model that does not wait between attempts, and records the waits.
pub(crate) fn noted(form: &str, url: &str, notes: &Noted) -> HttpModel {
    let notes = Arc::new(notes.clone());
    model(form, url, |endpoint| endpoint.with(|options| options.pauses(notes)))
}

pub(crate) async fn served(simulator: Simulator) -> HttpServer {
    HttpFace::default().simulator(simulator).key(KEY).start().await.unwrap()
}

pub(crate) async fn bad(bad: Misbehaviour) -> BadServer {
    BadServer::start(bad).await.unwrap()
}

pub(crate) fn request() -> ModelRequest {
    let schema = json!({"properties": {"step": {"type": "integer"}}, "type": "object"});
    ModelRequest::new([Message::from("Two tickets to Lisbon, please.")])
        .system("You book trips.")
        .max_output_tokens(500)
        .tools([FunctionTool::new("look", Json::from(&schema)).description("Looks.")])
}

pub(crate) async fn complete(model: &HttpModel) -> Result<Answer, ModelError> {
    model.complete(&request(), &CancelSignal::never()).await
}

/// Streams an answer, and returns it with its deltas.
pub(crate) async fn stream(
    model: &dyn LanguageModel,
) -> (Result<Answer, ModelError>, Vec<AnswerDelta>) {
    let mut deltas = Vec::new();
    let mut show = |delta| deltas.push(delta);
    let answer = model.stream(&request(), &CancelSignal::never(), &mut show).await;
    (answer, deltas)
}

/// Does not wait, and records the waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noted(Arc<Mutex<Vec<Duration>>>);

impl Noted {
    pub(crate) fn waits(&self) -> Vec<Duration> {
        self.0.lock().unwrap().clone()
    }
}

impl Pauses for Noted {
    fn pause(&self, length: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.0.lock().unwrap().push(length);
        Box::pin(std::future::ready(()))
    }
}
