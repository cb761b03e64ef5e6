//! Which groups stay or go together because a call is in one and its result in another.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use context_core::{Message, Part, Role, Structure};

/// Groups, and for each the first of those it goes with.
#[derive(Debug)]
pub(crate) struct Linked {
    /// The groups of each first one; empty for the others.
    pub(crate) members: Vec<Vec<usize>>,
    /// The first one of each group.
    pub(crate) first: Vec<usize>,
}

impl Linked {
    /// Of these groups. In most histories nobody speaks between a call and its result, and each group is alone.
    pub(crate) fn of(messages: &[Arc<Message>], structure: &Structure) -> Self {
        let mut parents: Vec<usize> = (0..structure.groups.len()).collect();
        let mut open: HashMap<&str, VecDeque<usize>> = HashMap::new();
        for (group, range) in structure.groups.iter().enumerate() {
            for part in messages[range.clone()].iter().flat_map(|message| calls_and_results(message)) {
                match part {
                    Part::ToolCall(call) => open.entry(&call.id).or_default().push_back(group),
                    Part::ToolResult(result) => {
                        let call = open.get_mut(result.call_id.as_str()).and_then(VecDeque::pop_front);
                        if let Some(call) = call {
                            let (one, other) = (root(&mut parents, call), root(&mut parents, group));
                            parents[one.max(other)] = one.min(other);
                        }
                    }
                    _ => {}
                }
            }
        }
        let first: Vec<usize> = (0..parents.len()).map(|group| root(&mut parents, group)).collect();
        let mut members = vec![Vec::new(); first.len()];
        for (group, first) in first.iter().enumerate() {
            members[*first].push(group);
        }
        Self { members, first }
    }

    /// What goes with a group, itself included.
    pub(crate) fn with(&self, group: usize) -> &[usize] {
        &self.members[self.first[group]]
    }
}

fn calls_and_results(message: &Message) -> impl Iterator<Item = &Part> {
    let by_assistant = message.role == Role::Assistant;
    message.parts.iter().filter(move |part| match part {
        Part::ToolCall(_) => by_assistant,
        Part::ToolResult(_) => true,
        _ => false,
    })
}

fn root(parents: &mut [usize], mut group: usize) -> usize {
    while parents[group] != group {
        parents[group] = parents[parents[group]];
        group = parents[group];
    }
    group
}
