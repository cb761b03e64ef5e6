//! Amounts that are added to metadata, in cases where a counter beside the encrypted value would
//! give another result.
//!
//! A counter sums up what was added, and is merged with the value when a chat is decrypted. The
//! result is the same as adding one amount after the other, unless an amount replaces a value
//! because it has another shape: a number added to an object, or a text added to a number. Such an
//! amount is converted to the resulting value, which is then set. Therefore the chat is read before
//! amounts are added.
//!
//! This does not resolve a race between two writers who change the shape of one value at once: the
//! later one wins. It also cannot recognize a repeated commit with a key and such an amount. That
//! commit is rejected, and nothing is added twice.

use std::borrow::Cow;

use context_core::base::JsonMap;
use context_core::store::ChatPatch;
use context_core::{ChatRef, Json, Metadata, Result};
use serde_json::Number;

use super::chats::MOST_LEVELS;
use super::layer::Layer;

impl Layer {
    /// Returns an equivalent patch whose amounts can go to counters.
    pub(super) async fn settled<'a>(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        patch: &'a ChatPatch,
    ) -> Result<Cow<'a, ChatPatch>> {
        if patch.add.is_empty() {
            return Ok(Cow::Borrowed(patch));
        }
        // The backend rejects the patch of a chat that does not exist.
        let Some(stored) = self.inner.history().chat(chat).await? else {
            return Ok(Cow::Borrowed(patch));
        };
        let mut opened = self.sealer(&chat.user)?.open_chat(operation, stored)?;
        let mut settled = ChatPatch { add: Metadata::default(), ..patch.clone() };
        settled.apply(&mut opened)?;
        let mut differs = false;
        for (name, amount) in patch.add.iter() {
            if opened.metadata.get(name).is_none_or(|present| adds_up(present, amount, 0)) {
                settled.add.insert(name, amount.clone());
            } else {
                let one = Metadata::default().with(name, amount.clone());
                ChatPatch { add: one, ..ChatPatch::default() }.apply(&mut opened)?;
                if let Some(sum) = opened.metadata.get(name) {
                    settled.set.insert(name, sum.clone());
                }
                differs = true;
            }
        }
        Ok(if differs { Cow::Owned(settled) } else { Cow::Borrowed(patch) })
    }
}

/// Whether an amount meets only values of its own shape, so that adding it to the value or to a
/// counter gives the same result. Sums are not compared, because another order of additions rounds
/// differently.
fn adds_up(present: &Json, amount: &Json, level: usize) -> bool {
    match (shape(present, level), shape(amount, level)) {
        (Shape::Fields(present), Shape::Fields(amount)) => amount.iter().all(|(name, amount)| {
            present.get(name).is_none_or(|present| adds_up(present, amount, level + 1))
        }),
        (Shape::Number, Shape::Number) => true,
        // The later text replaces the earlier one, in a counter as well.
        (Shape::Other, Shape::Other) => level < MOST_LEVELS,
        _ => false,
    }
}

/// The shape of a value, which decides how an amount is added to it.
enum Shape {
    Number,
    Fields(JsonMap),
    Other,
}

fn shape(value: &Json, level: usize) -> Shape {
    if value.parse::<Number>().is_ok() {
        return Shape::Number;
    }
    match value.parse() {
        Ok(fields) if level < MOST_LEVELS => Shape::Fields(fields),
        _ => Shape::Other,
    }
}
