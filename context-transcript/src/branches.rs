//! The branches of a file whose lines or records name their predecessors.
//!
//! The main thread consists of the items that are not in a side chain. A side chain is the thread
//! of a sub-agent and starts at a marked item whose predecessor is not marked. Every item without a
//! successor in its thread is the end of a branch. `main` ends at the item that the file names as
//! the current one, else at the last message of the main thread, including the notes after it.
//! Other ends of the main thread are `main-v2`, `main-v3` and so on, in file order. Side chains are
//! `agent-1`, `agent-2` and so on by their first items, each with versions like `main`.
//!
//! The tree follows the named predecessors exactly, also where a session starts again without a
//! parent, as after a compaction.

use std::collections::BTreeMap;

use context_core::Node;

use crate::{Tree, TreeError};

/// A line or record that becomes messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BranchItem {
    /// The index of the preceding item.
    pub(crate) parent: Option<usize>,
    /// Whether the item is in a side chain.
    pub(crate) is_side: bool,
    /// Whether the item is a message rather than a note.
    pub(crate) is_message: bool,
}

/// Builds the tree of items without cycles. `nodes` are the nodes of each item in sequence.
/// `current` is the item that the file names as the current one.
pub(crate) fn tree(
    items: &[BranchItem],
    mut nodes: Vec<Vec<Node>>,
    current: Option<usize>,
) -> Result<Tree, TreeError> {
    let (mut tree, mut ends) = (Tree::default(), vec![None; items.len()]);
    for index in parents_first(items) {
        let mut end = items[index].parent.and_then(|parent| ends[parent]);
        for node in std::mem::take(&mut nodes[index]) {
            end = Some(tree.add(node, end)?);
        }
        ends[index] = end;
    }
    for (name, head) in named(items, current) {
        if let Some(head) = ends[head] {
            tree.branch(name, head)?;
        }
    }
    Ok(tree)
}

/// Makes each line follow the one before it, with side chains as a separate sequence. For sessions
/// in which no line names its predecessor, which would otherwise give one conversation per line.
pub(crate) fn chain(items: &mut [BranchItem]) {
    let mut last = [None; 2];
    for (index, item) in items.iter_mut().enumerate() {
        item.parent = last[usize::from(item.is_side)].replace(index);
    }
}

/// Cuts every cycle, since none of its lines would come first. Returns the positions of the cuts.
pub(crate) fn cut_cycles(items: &mut [BranchItem]) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        OnPath,
        Done,
    }
    let (mut states, mut cuts) = (vec![State::New; items.len()], Vec::new());
    for start in 0..items.len() {
        let (mut path, mut at) = (Vec::new(), Some(start));
        while let Some(index) = at {
            match states[index] {
                State::New => {
                    states[index] = State::OnPath;
                    path.push(index);
                    at = items[index].parent;
                }
                State::OnPath => {
                    items[index].parent = None;
                    cuts.push(index);
                    at = None;
                }
                State::Done => at = None,
            }
        }
        path.into_iter().for_each(|index| states[index] = State::Done);
    }
    cuts
}

/// Returns the items in an order in which each comes after its predecessor, otherwise in file
/// order.
pub(crate) fn parents_first(items: &[BranchItem]) -> Vec<usize> {
    let (mut order, mut done) = (Vec::with_capacity(items.len()), vec![false; items.len()]);
    for start in 0..items.len() {
        let (mut path, mut at) = (Vec::new(), Some(start));
        while let Some(index) = at.filter(|index| !done[*index]) {
            done[index] = true;
            path.push(index);
            at = items[index].parent;
        }
        order.extend(path.into_iter().rev());
    }
    order
}

/// Returns the branches with their ends, `main` first.
fn named(items: &[BranchItem], current: Option<usize>) -> Vec<(String, usize)> {
    // A file with only a sub-agent's lines is an ordinary conversation.
    let all_side = items.iter().all(|item| item.is_side);
    let is_side = |index: usize| items[index].is_side && !all_side;
    // For each item of a side chain, the first item of that side chain.
    let mut thread: Vec<Option<usize>> = vec![None; items.len()];
    let mut is_leaf = vec![true; items.len()];
    for index in parents_first(items) {
        let parent = items[index].parent;
        thread[index] = match parent {
            Some(parent) if !is_side(index) || is_side(parent) => thread[parent],
            _ => is_side(index).then_some(index),
        };
        if let Some(parent) = parent.filter(|parent| thread[*parent] == thread[index]) {
            is_leaf[parent] = false;
        }
    }
    let mut threads: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (index, thread) in thread.iter().enumerate() {
        threads.entry(*thread).or_default().push(index);
    }
    let mut branches = Vec::new();
    for (number, members) in threads.into_values().enumerate() {
        // The main thread sorts first.
        let first = if number == 0 { "main".to_owned() } else { format!("agent-{number}") };
        let current = current.filter(|index| members.contains(index) && number == 0);
        let head = current.unwrap_or_else(|| head(items, &members, &thread));
        let others = members.iter().copied().filter(|index| is_leaf[*index] && *index != head);
        let heads = std::iter::once(head).chain(others);
        for (version, head) in heads.enumerate() {
            let name =
                if version == 0 { first.clone() } else { format!("{first}-v{}", version + 1) };
            branches.push((name, head));
        }
    }
    branches
}

/// Returns the end of a thread's first branch: its last message, including the notes after it.
fn head(items: &[BranchItem], members: &[usize], thread: &[Option<usize>]) -> usize {
    let last = members.iter().copied().rfind(|index| items[*index].is_message);
    let mut head = last.or(members.last().copied()).unwrap_or_default();
    let mut last_child: BTreeMap<usize, usize> = BTreeMap::new();
    for index in members {
        if let Some(parent) =
            items[*index].parent.filter(|parent| thread[*parent] == thread[*index])
        {
            last_child.insert(parent, *index);
        }
    }
    while let Some(child) = last_child.get(&head) {
        head = *child;
    }
    head
}
