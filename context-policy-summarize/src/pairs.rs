//! Where a history can be cut without parting a call from its result.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use context_core::{Message, Part, Role};

/// For each position from 0 to the number of messages, whether the history can be cut in front of it: no call before it has its
/// result behind it. A result belongs to the oldest call of its id that has none.
pub(crate) fn cuts(messages: &[Arc<Message>]) -> Vec<bool> {
    let mut waiting: HashMap<&str, VecDeque<usize>> = HashMap::new();
    // How many pairs more, or fewer, a cut at each position parts than one before it.
    let mut change = vec![0_i64; messages.len() + 2];
    for (at, message) in messages.iter().enumerate() {
        for part in &message.parts {
            match part {
                Part::ToolCall(call) if message.role == Role::Assistant => {
                    waiting.entry(&call.id).or_default().push_back(at);
                }
                Part::ToolResult(result) => {
                    let call = waiting.get_mut(result.call_id.as_str()).and_then(VecDeque::pop_front);
                    if let Some(call) = call {
                        change[call + 1] += 1;
                        change[at + 1] -= 1;
                    }
                }
                _ => {}
            }
        }
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

    #[test]
    fn no_cut_lies_between_a_call_and_its_result() {
        let call =
            |id: &str| Message::new(Role::Assistant, [Part::tool_call(id, "f", serde_json::json!({}))]);
        let result = |id: &str| Message::new(Role::Tool, [Part::tool_result(id, "x")]);
        let messages: Vec<Arc<Message>> =
            [Message::from("go"), call("a"), Message::from("well?"), result("a"), call("b"), result("z")]
                .map(Arc::new)
                .into();
        assert_eq!(cuts(&messages), [true, true, false, false, true, true, true]);
        assert_eq!(cuts(&[]), [true]);
    }
}
