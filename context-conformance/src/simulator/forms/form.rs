//! What a provider's forms are asked for.

use serde_json::Value;

use crate::simulator::limits::Limits;
use crate::simulator::refusal::Refusal;
use crate::simulator::said::Said;

/// The forms and the published limits of a provider.
pub(in crate::simulator) trait Form: Send + Sync {
    /// What is published of how much is taken, whatever the model.
    fn limits(&self) -> Limits;

    /// Whether the output that is asked for must fit the window too.
    fn counts_output(&self) -> bool;

    /// Status and body of a refusal.
    fn refuse(&self, refusal: &Refusal, model: &str) -> (u16, String);

    /// The body of an answer.
    fn answer(&self, said: &Said) -> Value;

    /// The data of the events of an answer.
    fn events(&self, said: &Said) -> Vec<String>;

    /// The data of the event that ends an answer in the middle, because there is too much to do.
    fn failed(&self, said: &Said) -> String {
        self.refuse(&Refusal::Overloaded, &said.model).1
    }
}
