//! The branches of a session.
//!
//! The main thread is what is no side chain; a side chain, the thread of a sub-agent, begins where
//! a line is marked so and what it follows is not. Every line that nothing follows is the end of a
//! branch. `main` ends at the last message of the main thread and what was noted behind it; the
//! other ends of the main thread are `main-v2`, `main-v3` and so on, in the order of the file. Side
//! chains are `agent-1`, `agent-2` and so on by their first lines, each with versions like `main`.
//!
//! The tree is what `parentUuid` says: also where a session begins anew without a parent, as it
//! does behind a compaction.

use std::collections::BTreeMap;

use super::Item;

/// Puts each line behind the one before it, those of side chains behind each other: for a session
/// in which no line says what it follows. Read by the letter it would be as many conversations as
/// lines.
pub(super) fn chain(items: &mut [Item]) {
    let mut last = [None; 2];
    for (index, item) in items.iter_mut().enumerate() {
        item.parent = last[usize::from(item.is_side)].replace(index);
    }
}

/// Cuts every circle, in which no line would come first, and gives back where.
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

/// The items in an order in which each comes behind what it follows, and else as in the file.
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

/// The branches and where they end, `main` first.
pub(super) fn named(items: &[Item]) -> Vec<(String, usize)> {
    // A file of a sub-agent alone is a conversation like any other.
    let all_side = items.iter().all(|item| item.is_side);
    let is_side = |index: usize| items[index].is_side && !all_side;
    // The item a side chain begins with, for every item of it.
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

/// Where the first branch of a thread ends: at its last message, or what was noted behind it.
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
