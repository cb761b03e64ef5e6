//! An answer that was cut off by an error.

use std::sync::Arc;

use context_core::{Message, Role};

/// The history without the answer that ended it: a last message of the assistant, and the results
/// of tools behind it. What a loop sends again after a call failed in the middle of its answer. A
/// history that ends otherwise stays as it is.
pub fn without_failed_answer(messages: &[Arc<Message>]) -> &[Arc<Message>] {
    let is_result =
        |message: &&Arc<Message>| message.role == Role::Tool && !message.is_placeholder();
    let results = messages.iter().rev().take_while(is_result).count();
    match messages[..messages.len() - results].split_last() {
        Some((last, before)) if last.role == Role::Assistant => before,
        _ => messages,
    }
}
