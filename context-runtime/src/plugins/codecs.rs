//! Codecs by name: the wire formats whose features are on.

use std::sync::Arc;

use context_core::model::ModelCodec;
use context_core::{Error, ErrorKind, MessageCodec, Result};

/// The providers whose codecs are on, by the names that [`provider`] accepts.
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

/// The providers that this library supports, and the feature that each needs.
const FEATURES: [(&str, &str); 4] = [
    ("openai", "openai"),
    ("openai-responses", "openai"),
    ("anthropic", "anthropic"),
    ("gemini", "gemini"),
];

/// Returns the codec of a provider: `openai` (Chat Completions), `openai-responses`, `anthropic` or
/// `gemini`, if its feature is on. Returns [`Unsupported`](ErrorKind::Unsupported) for any other
/// name. The error says which feature is off, or which names exist.
///
/// ```
/// use context_runtime::{Message, provider, model::ModelRequest};
///
/// let codec = provider("anthropic")?;
/// let body = codec.lower(&ModelRequest::new([Message::from("Hello!")]).model("claude-sonnet-4-5"))?.body;
/// assert!(body.as_str().contains(r#""role":"user""#));
/// # Ok::<_, context_runtime::Error>(())
/// ```
pub fn provider(name: &str) -> Result<Arc<dyn ModelCodec>> {
    match name {
        #[cfg(feature = "openai")]
        "openai" => Ok(Arc::new(context_codec_openai::chat::ChatCodec)),
        #[cfg(feature = "openai")]
        "openai-responses" => Ok(Arc::new(context_codec_openai::responses::ResponsesCodec)),
        #[cfg(feature = "anthropic")]
        "anthropic" => Ok(Arc::new(context_codec_anthropic::messages::MessagesCodec)),
        #[cfg(feature = "gemini")]
        "gemini" => Ok(Arc::new(context_codec_gemini::generate::GenerateCodec)),
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> Error {
    const OPERATION: &str = "provider";
    let error = match FEATURES.iter().find(|(provider, _)| *provider == name) {
        Some((_, feature)) => Error::new(
            ErrorKind::Unsupported,
            OPERATION,
            "this program was built without this provider",
        )
        .with("feature", feature),
        None => Error::new(ErrorKind::Unsupported, OPERATION, "no provider of this name is known"),
    };
    error.with("provider", name).with("known", PROVIDERS.join(", "))
}

/// Returns the codec of a conversation format: that of any [`provider`], or `uimessage`.
///
/// ```
/// use context_runtime::{Json, message_codec};
///
/// let codec = message_codec("uimessage")?;
/// let messages =
///     Json::from_text(r#"[{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hello!"}]}]"#)?;
/// assert_eq!(codec.lift(&messages)?.request.messages[0].plain_text(), "Hello!");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub fn message_codec(name: &str) -> Result<Arc<dyn MessageCodec>> {
    match name {
        #[cfg(feature = "uimessage")]
        "uimessage" => Ok(Arc::new(context_codec_uimessage::ui::UiMessageCodec)),
        _ => provider(name).map(|codec| codec as Arc<dyn MessageCodec>),
    }
}
