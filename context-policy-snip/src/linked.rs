//! Which groups stay or go together because a call is in one and its result in another.

use std::sync::Arc;

use context_core::Message;
use context_core::history::{Structure, pairs};

/// Groups, and for each the first of those it goes with.
#[derive(Debug)]
pub(crate) struct Linked {
    /// The groups of each first one; empty for the others.
    pub(crate) members: Vec<Vec<usize>>,
    /// The first one of each group.
    pub(crate) first: Vec<usize>,
}

impl Linked {
    /// Of these groups. In most histories nobody speaks between a call and its result, and each
    /// group is alone.
    pub(crate) fn of(messages: &[Arc<Message>], structure: &Structure) -> Self {
        let mut parents: Vec<usize> = (0..structure.groups.len()).collect();
        for (call, result) in pairs(messages) {
            let (Some(call), Some(result)) = (structure.group_of(call), structure.group_of(result))
            else {
                continue;
            };
            let (one, other) = (root(&mut parents, call), root(&mut parents, result));
            parents[one.max(other)] = one.min(other);
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

fn root(parents: &mut [usize], mut group: usize) -> usize {
    while parents[group] != group {
        parents[group] = parents[parents[group]];
        group = parents[group];
    }
    group
}
