//! The branches of a session.
//!
//! The main thread consists of the lines that are not in a side chain. A side chain is the thread
//! of a sub-agent and starts at a marked line whose predecessor is not marked. Every line without a
//! successor is the end of a branch. `main` ends at the last message of the main thread, including
//! the notes after it. Other ends of the main thread are `main-v2`, `main-v3` and so on, in file
//! order. Side chains are `agent-1`, `agent-2` and so on by their first lines, each with versions
//! like `main`.
//!
//! The tree follows `parentUuid` exactly, also where a session starts again without a parent, as
//! after a compaction.

use std::collections::BTreeMap;

use super::Item;

/// Makes each line follow the one before it, with side chains as a separate sequence. For sessions
/// in which no line names its predecessor, which would otherwise give one conversation per line.
pub(super) fn chain(items: &mut [Item]) {
    let mut last = [None; 2];
    for (index, item) in items.iter_mut().enumerate() {
        item.parent = last[usize::from(item.is_side)].replace(index);
    }
}

/// Cuts every cycle, since none of its lines would come first. Returns the positions of the cuts.
pub(super) fn cut_cycles(items: &mut [Item]) -> Vec<usize> {
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
pub(super) fn parents_first(items: &[Item]) -> Vec<usize> {
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
pub(super) fn named(items: &[Item]) -> Vec<(String, usize)> {
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
        if let Some(parent) = parent {
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
        let head = head(items, &members, &thread);
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
fn head(items: &[Item], members: &[usize], thread: &[Option<usize>]) -> usize {
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
