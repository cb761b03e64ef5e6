//! Checks that the simulator's HTTP server replies like its provider, and that misbehaving servers
//! do misbehave.

#![allow(clippy::unwrap_used, reason = "a test may fail and say why")]

mod bad;
mod face;

use std::sync::Arc;

use context_core::message::Media;
use context_core::model::{MediaKind, ModelCodec, TokenCount, TokenCounter};
use context_core::{CancelSignal, Json, Message, ModelRequest};
use context_http::{Client, ClientOptions, HttpError, HttpReply, Request, Retries};
use context_simulator::Simulator;

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

    fn count_media(&self, _kind: MediaKind, _media: &Media) -> TokenCount {
        TokenCount::exact(100)
    }
}

/// Returns the codecs, each with the path of its provider's endpoint.
fn codecs() -> [(Arc<dyn ModelCodec>, &'static str); 4] {
    [
        (Arc::new(context_codec_openai::chat::ChatCodec), "v1/chat/completions"),
        (Arc::new(context_codec_openai::responses::ResponsesCodec), "v1/responses"),
        (Arc::new(context_codec_anthropic::messages::MessagesCodec), "v1/messages"),
        (
            Arc::new(context_codec_gemini::generate::GenerateCodec),
            "v1beta/models/m:generateContent",
        ),
    ]
}

fn simulator(codec: &Arc<dyn ModelCodec>) -> Simulator {
    Simulator::new(Arc::clone(codec), Arc::new(Quarters))
}

fn body(codec: &dyn ModelCodec, in_events: bool) -> Json {
    let mut request = ModelRequest::new([Message::from("Two tickets to Lisbon.")]).model("m");
    request.stream = in_events.then_some(true);
    codec.lower(&request).unwrap().body
}

/// Sends a request once, with these headers.
async fn ask(
    url: &str,
    request: Request,
    headers: &[(&str, &str)],
) -> Result<HttpReply, HttpError> {
    let mut options = ClientOptions::default().retries(Retries::none());
    for (name, value) in headers {
        options = options.header(*name, *value);
    }
    Client::new(url, options).unwrap().send(&request, &CancelSignal::never()).await
}
