//! Groups that stay or go together because a call is in one and its result in another.

use std::sync::Arc;

use context_core::Message;
use context_core::history::{Structure, pairs};

/// For each group, the groups it is linked with. A set of linked groups is identified by its first
/// group.
#[derive(Debug)]
pub(crate) struct LinkedGroups {
    /// The groups of each set, under its first group; empty for all others.
    pub(crate) members: Vec<Vec<usize>>,
    /// The first group of each group's set.
    pub(crate) first: Vec<usize>,
}

impl LinkedGroups {
    /// Links these groups. In most histories no other message stands between a call and its result,
    /// and each group is a set of its own.
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

    /// Returns the groups linked with a group, itself included.
    pub(crate) fn linked_with(&self, group: usize) -> &[usize] {
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
