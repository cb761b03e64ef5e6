//! Matching of tool calls and results, and cuts that do not separate them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Message, Part, Role};

/// Returns the positions of call and result for each result with a preceding call. If an id
/// repeats, a result belongs to the newest call without a result.
pub fn pairs(messages: &[Arc<Message>]) -> Vec<(usize, usize)> {
    let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut pairs = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        for part in &message.parts {
            match part {
                Part::ToolCall(call) if message.role == Role::Assistant => {
                    open.entry(&call.id).or_default().push(at);
                }
                Part::ToolResult(result) => {
                    let call = open.get_mut(result.call_id.as_str()).and_then(Vec::pop);
                    pairs.extend(call.map(|call| (call, at)));
                }
                _ => {}
            }
        }
    }
    pairs
}

/// Returns for each position from 0 to the number of messages whether a cut before it separates no
/// call from its result.
pub fn clean_cuts(messages: &[Arc<Message>]) -> Vec<bool> {
    // The change in the number of separated pairs at each position.
    let mut change = vec![0_i64; messages.len() + 2];
    for (call, result) in pairs(messages) {
        change[call + 1] += 1;
        change[result + 1] -= 1;
    }
    let mut parted = 0;
    change[..=messages.len()]
        .iter()
        .map(|change| {
            parted += change;
            parted == 0
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> Message {
        Message::new(Role::Assistant, [Part::tool_call(id, "f", serde_json::json!({}))])
    }

    fn result(id: &str) -> Message {
        Message::new(Role::Tool, [Part::tool_result(id, "x")])
    }

    #[test]
    fn no_cut_lies_between_a_call_and_its_result() {
        let messages: Vec<Arc<Message>> = [
            Message::from("go"),
            call("a"),
            Message::from("well?"),
            result("a"),
            call("b"),
            result("z"),
        ]
        .map(Arc::new)
        .into();
        assert_eq!(pairs(&messages), [(1, 3)]);
        assert_eq!(clean_cuts(&messages), [true, true, false, false, true, true, true]);
        assert_eq!(clean_cuts(&[]), [true]);
    }

    #[test]
    fn a_result_belongs_to_the_newest_call_of_its_id() {
        let messages: Vec<Arc<Message>> = [call("a"), call("a"), result("a")].map(Arc::new).into();
        assert_eq!(pairs(&messages), [(1, 2)]);
        assert_eq!(clean_cuts(&messages), [true, true, false, true]);
    }
}
