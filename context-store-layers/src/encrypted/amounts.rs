//! Amounts that are added to metadata, where a counter beside the sealed value would not come to
//! the same.
//!
//! A counter sums up what was added, and is laid over the value when a chat is opened. That is the
//! same as adding one after the other, except where an amount takes the place of what is there
//! because it is of another shape: a number added to an object, a text added to a number. Such an
//! amount becomes what it comes to, a value that is set. So before amounts are added, the chat is
//! read.
//!
//! What this does not do: settle a race between two who change the shape of one value at once,
//! where the later one wins; or tell a commit with a key and such an amount from another one when
//! it is repeated, which is refused then and adds nothing twice.

use std::borrow::Cow;

use context_core::base::JsonMap;
use context_core::store::ChatPatch;
use context_core::{ChatRef, Json, Metadata, Result};
use serde_json::Number;

use super::chats::MOST_LEVELS;
use super::layer::Layer;

impl Layer {
    /// A patch that comes to the same when its amounts go to counters.
    pub(super) async fn settled<'a>(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        patch: &'a ChatPatch,
    ) -> Result<Cow<'a, ChatPatch>> {
        if patch.add.is_empty() {
            return Ok(Cow::Borrowed(patch));
        }
        // One that does not exist the backend refuses.
        let Some(stored) = self.inner.history().chat(chat).await? else {
            return Ok(Cow::Borrowed(patch));
        };
        let mut opened = self.sealer.open_chat(operation, stored)?;
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

/// Whether an amount meets only values of its own shape, so that it does not matter whether it is
/// added to what is there or to a counter over it. Sums are not compared: added up in another order
/// they are rounded otherwise.
fn adds_up(present: &Json, amount: &Json, level: usize) -> bool {
    match (shape(present, level), shape(amount, level)) {
        (Shape::Fields(present), Shape::Fields(amount)) => amount.iter().all(|(name, amount)| {
            present.get(name).is_none_or(|present| adds_up(present, amount, level + 1))
        }),
        (Shape::Number, Shape::Number) => true,
        // The later one takes the place of the earlier one, in a counter as well.
        (Shape::Other, Shape::Other) => level < MOST_LEVELS,
        _ => false,
    }
}

/// What becomes of a value that is added.
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
