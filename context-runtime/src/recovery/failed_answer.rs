//! Removing an answer that was cut off by an error.

use std::sync::Arc;

use context_core::{Message, Role};

/// Returns the history without a failed answer: without the last message of the assistant and the
/// tool results after it. A loop sends this again after a call failed in the middle of its answer.
/// A history that ends otherwise is returned unchanged.
pub fn without_failed_answer(messages: &[Arc<Message>]) -> &[Arc<Message>] {
    let is_result =
        |message: &&Arc<Message>| message.role == Role::Tool && !message.is_placeholder();
    let results = messages.iter().rev().take_while(is_result).count();
    match messages[..messages.len() - results].split_last() {
        Some((last, before)) if last.role == Role::Assistant => before,
        _ => messages,
    }
}
