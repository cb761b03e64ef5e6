//! The interface of a provider's wire form.

use serde_json::Value;

use crate::provider::answer::ProviderAnswer;
use crate::provider::limits::Limits;
use crate::provider::refusal::Refusal;

/// The wire form and the published limits of a provider.
pub(in crate::provider) trait Form: Send + Sync {
    /// Returns the published limits that apply to every model.
    fn limits(&self) -> Limits;

    /// Whether the requested output must fit the window too.
    fn counts_output(&self) -> bool;

    /// Returns the status and the body of a refusal.
    fn refuse(&self, refusal: &Refusal, model: &str) -> (u16, String);

    /// Returns the body of an answer.
    fn answer(&self, answer: &ProviderAnswer) -> Value;

    /// Returns the data of the events of a streamed answer.
    fn events(&self, answer: &ProviderAnswer) -> Vec<String>;

    /// Returns the data of the event that aborts an answer because of overload.
    fn failed(&self, answer: &ProviderAnswer) -> String {
        self.refuse(&Refusal::Overloaded, &answer.model).1
    }
}
