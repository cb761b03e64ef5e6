//! The in-process provider of the conformance kit, used through the real codecs: every reply can be
//! lifted, and every refusal has a reason.

mod answers;
mod caches;
mod faults;
mod recordings;
mod request_limits;
mod rules;

use std::sync::Arc;

use context_runtime::tokens::MediaKind;
use context_runtime::{
    FunctionTool, Json, Media, MediaSource, Message, Metadata, PROVIDERS, Part, Role, Tool,
    model::{ModelRequest, TokenCount, TokenCounter},
    provider,
};
use context_simulator::Simulator;
use serde_json::json;

/// One token per four bytes, and a hundred per image: exact and fast.
#[derive(Debug)]
pub(crate) struct QuarterCounter;

impl TokenCounter for QuarterCounter {
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

fn simulator(name: &str) -> Simulator {
    Simulator::new(provider(name).unwrap(), Arc::new(QuarterCounter))
}

/// Returns one simulator per provider, with its name.
fn simulators() -> impl Iterator<Item = (&'static str, Simulator)> {
    PROVIDERS.iter().map(|name| (*name, simulator(name)))
}

fn request(messages: impl IntoIterator<Item = Message>) -> ModelRequest {
    ModelRequest::new(messages).model("a-model").max_output_tokens(200)
}

fn tool() -> Tool {
    let schema = json!({"type": "object", "properties": {"step": {"type": "integer"}}});
    FunctionTool::new("look", Json::from(&schema)).description("Looks.").into()
}

fn body(name: &str, request: &ModelRequest) -> String {
    provider(name).unwrap().lower(request).unwrap().body.as_str().to_owned()
}

/// Returns a user message with these images, in Base64.
fn with_images(images: impl IntoIterator<Item = String>) -> Message {
    let image = |data: String| {
        let source = MediaSource::Base64(data.into());
        Part::Image(Media {
            source,
            media_type: Some("image/png".into()),
            name: None,
            metadata: Metadata::default(),
        })
    };
    Message::new(Role::User, [Part::text("Look.")].into_iter().chain(images.into_iter().map(image)))
}
