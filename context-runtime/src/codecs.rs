//! Codecs by name: the wire forms whose features are on.

use std::sync::Arc;

use context_core::{MessageCodec, ModelCodec};

/// The providers whose codecs are on, by the names that [`provider`] takes.
pub const PROVIDERS: &[&str] = &[
    #[cfg(feature = "openai")]
    "openai",
    #[cfg(feature = "openai")]
    "openai-responses",
    #[cfg(feature = "anthropic")]
    "anthropic",
    #[cfg(feature = "gemini")]
    "gemini",
];

/// The codec of a provider: `openai` (Chat Completions), `openai-responses`, `anthropic` or `gemini`, as far as their
/// features are on.
///
/// ```
/// use context_runtime::{Message, provider, model::ModelRequest};
///
/// let codec = provider("anthropic").expect("its feature is on");
/// let body = codec.lower(&ModelRequest::new([Message::from("Hello!")]).model("claude-sonnet-4-5"))?.body;
/// assert!(body.as_str().contains(r#""role":"user""#));
/// # Ok::<_, context_runtime::wire::WireError>(())
/// ```
pub fn provider(name: &str) -> Option<Arc<dyn ModelCodec>> {
    match name {
        #[cfg(feature = "openai")]
        "openai" => Some(Arc::new(context_codec_openai::chat::ChatCodec)),
        #[cfg(feature = "openai")]
        "openai-responses" => Some(Arc::new(context_codec_openai::responses::ResponsesCodec)),
        #[cfg(feature = "anthropic")]
        "anthropic" => Some(Arc::new(context_codec_anthropic::messages::MessagesCodec)),
        #[cfg(feature = "gemini")]
        "gemini" => Some(Arc::new(context_codec_gemini::generate::GenerateCodec)),
        _ => None,
    }
}

/// The codec of a form in which conversations are written: that of any [`provider`], or `uimessage`.
///
/// ```
/// use context_runtime::{Json, message_codec};
///
/// let codec = message_codec("uimessage").expect("its feature is on");
/// let messages =
///     Json::from_text(r#"[{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hello!"}]}]"#)?;
/// assert_eq!(codec.lift(&messages)?.request.messages[0].plain_text(), "Hello!");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub fn message_codec(name: &str) -> Option<Arc<dyn MessageCodec>> {
    match name {
        #[cfg(feature = "uimessage")]
        "uimessage" => Some(Arc::new(context_codec_uimessage::ui::UiMessageCodec)),
        _ => provider(name).map(|codec| codec as Arc<dyn MessageCodec>),
    }
}
