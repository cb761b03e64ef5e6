//! The names of the plug-ins, each behind its feature.

#[cfg(feature = "anthropic")]
pub use context_codec_anthropic as anthropic;
#[cfg(feature = "gemini")]
pub use context_codec_gemini as gemini;
#[cfg(feature = "openai")]
pub use context_codec_openai as openai;
#[cfg(feature = "uimessage")]
pub use context_codec_uimessage as uimessage;
#[cfg(feature = "instructions")]
pub use context_instructions as instructions;
#[cfg(feature = "model-http")]
pub use context_model_http as model_http;
#[cfg(feature = "microcompact")]
pub use context_policy_microcompact as microcompact;
#[cfg(feature = "snip")]
pub use context_policy_snip as snip;
#[cfg(feature = "strip-images")]
pub use context_policy_strip_images as strip_images;
#[cfg(feature = "summarize")]
pub use context_policy_summarize as summarize;
#[cfg(feature = "truncate-head")]
pub use context_policy_truncate_head as truncate_head;
#[cfg(feature = "markdown")]
pub use context_render::MarkdownRenderer;
#[cfg(feature = "toml")]
pub use context_render::TomlRenderer;
#[cfg(feature = "toon")]
pub use context_render::ToonRenderer;
#[cfg(feature = "xml")]
pub use context_render::XmlRenderer;
#[cfg(feature = "secrets")]
pub use context_secrets as secrets;
#[cfg(feature = "layers")]
pub use context_store_layers as layers;
#[cfg(feature = "object")]
pub use context_store_object as object;
#[cfg(feature = "tokens")]
pub use context_tokens as tokens;
