//! The spans of `tracing`. The facade's page lists them with their fields.
//!
//! A span names the chat and no user, and holds no content.

use context_core::ChatRef;
#[cfg(feature = "tokens")]
use context_core::model::Usage;
use tracing::Span;

/// Defines the spans whose only field is the chat.
macro_rules! spans {
    ($($span:ident => $name:literal;)+) => {
        $(
            pub(crate) fn $span(chat: &ChatRef) -> Span {
                tracing::info_span!(target: "context", $name, gen_ai.conversation.id = %chat.chat)
            }
        )+
    };
}

spans! {
    resolve => "context.resolve";
    save => "context.save";
}

#[cfg(feature = "tokens")]
spans! {
    prepare => "context.prepare";
    compact => "context.compact";
    recall => "context.recall";
    recover => "context.recover";
    capture => "context.capture";
}

/// The call of a model. Its usage is recorded when the answer is there.
#[cfg(feature = "tokens")]
pub(crate) fn call(chat: &ChatRef, provider: &str, model: &str) -> Span {
    tracing::info_span!(
        target: "context",
        "chat",
        otel.name = format!("chat {model}"),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.conversation.id = %chat.chat,
        gen_ai.provider.name = provider,
        gen_ai.request.model = model,
        gen_ai.usage.input_tokens = tracing::field::Empty,
        gen_ai.usage.output_tokens = tracing::field::Empty,
        gen_ai.usage.cache_read.input_tokens = tracing::field::Empty,
    )
}

/// Records the usage of a call.
#[cfg(feature = "tokens")]
pub(crate) fn record_usage(span: &Span, usage: &Usage) {
    span.record("gen_ai.usage.input_tokens", usage.total_input());
    span.record("gen_ai.usage.output_tokens", usage.output);
    span.record("gen_ai.usage.cache_read.input_tokens", usage.cache_read);
}

/// The tool of a call.
#[cfg(feature = "agents")]
pub(crate) fn tool(chat: &ChatRef, name: &str, call: &str) -> Span {
    tracing::info_span!(
        target: "context",
        "execute_tool",
        otel.name = format!("execute_tool {name}"),
        gen_ai.operation.name = "execute_tool",
        gen_ai.conversation.id = %chat.chat,
        gen_ai.tool.name = name,
        gen_ai.tool.call.id = call,
    )
}
