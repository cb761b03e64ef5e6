//! The wire forms of answers and refusals, per provider. Error texts are those of the providers, as
//! clients report them.

mod anthropic;
mod chat;
mod form;
mod format;
mod gemini;
mod openai;
mod responses;

pub(super) use form::Form;

/// Returns the wire form of a provider, by the name of its codec.
pub(super) fn of(provider: &str) -> Option<&'static dyn Form> {
    Some(match provider {
        "openai" => &chat::Chat,
        "openai-responses" => &responses::Responses,
        "anthropic" => &anthropic::Anthropic,
        "gemini" => &gemini::Gemini,
        _ => return None,
    })
}
