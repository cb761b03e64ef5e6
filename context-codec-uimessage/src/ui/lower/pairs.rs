//! Matching of results with calls.

use std::collections::{HashMap, VecDeque};

use context_core::{Message, Part, Role, ToolResult};

/// A message and a part of it, by position.
type PartPosition = (usize, usize);

/// Calls and their results.
#[derive(Debug, Default)]
pub(in crate::ui) struct Pairs<'a> {
    /// Call and result, in the order of the calls.
    pairs: Vec<(PartPosition, PartPosition, &'a ToolResult)>,
    /// Results without calls.
    pub(super) unpaired: Vec<PartPosition>,
}

impl<'a> Pairs<'a> {
    /// Pairs each result with the first call of its id that has no result yet, in the last message
    /// before the result that has such a call.
    pub(super) fn of(messages: &[&'a Message]) -> Self {
        let mut all = Self::default();
        let is_result = |part: &Part| matches!(part, Part::ToolResult(_));
        if !messages.iter().any(|message| message.parts.iter().any(is_result)) {
            return all;
        }
        let mut open: HashMap<&str, Vec<(usize, VecDeque<usize>)>> = HashMap::new();
        for (index, message) in messages.iter().enumerate() {
            for (i, part) in message.parts.iter().enumerate() {
                match part {
                    Part::ToolCall(call) if message.role == Role::Assistant => {
                        let calls = open.entry(&call.id).or_default();
                        match calls.last_mut().filter(|(last, _)| *last == index) {
                            Some((_, positions)) => positions.push_back(i),
                            None => calls.push((index, VecDeque::from([i]))),
                        }
                    }
                    Part::ToolResult(result) => {
                        let position = open.get_mut(result.call_id.as_str()).and_then(|calls| {
                            let (of, positions) = calls.last_mut()?;
                            let position = (*of, positions.pop_front()?);
                            if positions.is_empty() {
                                calls.pop();
                            }
                            Some(position)
                        });
                        match position {
                            Some(position) => all.pairs.push((position, (index, i), result)),
                            None => all.unpaired.push((index, i)),
                        }
                    }
                    _ => {}
                }
            }
        }
        all.pairs.sort_by_key(|(call, ..)| *call);
        all
    }

    /// Returns the result of a call, and its place.
    pub(super) fn result(&self, call: PartPosition) -> Option<(PartPosition, &'a ToolResult)> {
        let found = self.pairs.binary_search_by_key(&call, |(call, ..)| *call).ok()?;
        self.pairs.get(found).map(|(_, position, result)| (*position, *result))
    }

    /// Returns whether a call of these messages has its result elsewhere. The positions must be in
    /// order.
    pub(in crate::ui) fn reach_out(&self, members: &[usize]) -> bool {
        let [first, ..] = members else { return false };
        let from = self.pairs.partition_point(|(call, ..)| call.0 < *first);
        let calls = self.pairs[from..]
            .iter()
            .take_while(|(call, ..)| members.last().is_some_and(|last| call.0 <= *last));
        let is_in = |position: &PartPosition| members.binary_search(&position.0).is_ok();
        calls.into_iter().any(|(call, result, _)| is_in(call) && !is_in(result))
    }
}
