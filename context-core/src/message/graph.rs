//! Pure functions on the message graph.
//!
//! There is no graph type. Every function takes a closure that returns the parent of a node. All
//! functions are iterative and take time linear in the nodes that they visit. They terminate even
//! if the parents form a cycle, which only a damaged file can contain.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Returns the path from a node to its root: the node, its parent, and so on.
///
/// A missing parent ends the path, as does a repeated node. [`find_cycle`] distinguishes the two.
pub fn ancestors<K: Eq + Hash + Clone>(start: K, parent: impl Fn(&K) -> Option<K>) -> Vec<K> {
    let mut seen = HashSet::new();
    let mut path = Vec::new();
    let mut next = Some(start);
    while let Some(node) = next {
        if !seen.insert(node.clone()) {
            break;
        }
        next = parent(&node);
        path.push(node);
    }
    path
}

/// Returns the newest common ancestor of two nodes, if there is one.
///
/// Walks both paths in step, so that nearby heads are cheap, however long their common history is.
pub fn common_ancestor<K: Eq + Hash + Clone>(
    a: K,
    b: K,
    parent: impl Fn(&K) -> Option<K>,
) -> Option<K> {
    let mut seen = [HashSet::new(), HashSet::new()];
    let mut next = [Some(a), Some(b)];
    while next.iter().any(Option::is_some) {
        for side in 0..2 {
            let Some(node) = next[side].take() else { continue };
            if seen[1 - side].contains(&node) {
                return Some(node);
            }
            if seen[side].insert(node.clone()) {
                next[side] = parent(&node);
            }
        }
    }
    None
}

/// Returns the children of every node that has any, in the given order.
pub fn children<'a, K: Eq + Hash>(
    nodes: impl IntoIterator<Item = &'a K>,
    parent: impl Fn(&K) -> Option<&'a K>,
) -> HashMap<&'a K, Vec<&'a K>> {
    let mut children: HashMap<&K, Vec<&K>> = HashMap::new();
    for node in nodes {
        if let Some(parent) = parent(node) {
            children.entry(parent).or_default().push(node);
        }
    }
    children
}

/// Returns the nodes with more than one child, in the given order.
pub fn fork_points<'a, K: Eq + Hash>(
    nodes: impl IntoIterator<Item = &'a K, IntoIter: Clone>,
    parent: impl Fn(&K) -> Option<&'a K>,
) -> Vec<&'a K> {
    let nodes = nodes.into_iter();
    let children = children(nodes.clone(), parent);
    nodes.filter(|node| children.get(node).is_some_and(|children| children.len() > 1)).collect()
}

/// Splits the graph into runs without forks. Each run is a path, top first, that starts at a root
/// or after a fork and ends at a leaf or a fork. Every node that is reachable from a root is in
/// exactly one run; nodes of a cycle are in none. A node whose parent is not among the nodes counts
/// as a root.
pub fn linear_runs<'a, K: Eq + Hash>(
    nodes: impl IntoIterator<Item = &'a K, IntoIter: Clone>,
    parent: impl Fn(&K) -> Option<&'a K>,
) -> Vec<Vec<&'a K>> {
    let nodes = nodes.into_iter();
    let known: HashSet<&K> = nodes.clone().collect();
    let parent = |node: &K| parent(node).filter(|parent| known.contains(parent));
    let children = children(nodes.clone(), parent);
    let mut starts: Vec<&K> = nodes.filter(|node| parent(node).is_none()).collect();
    starts.reverse();
    let mut runs = Vec::new();
    while let Some(start) = starts.pop() {
        let mut run = vec![start];
        let mut end = start;
        while let Some(next) = children.get(end) {
            if let [only] = next.as_slice() {
                run.push(only);
                end = only;
            } else {
                starts.extend(next.iter().rev());
                break;
            }
        }
        runs.push(run);
    }
    runs
}

/// Returns a node that is its own ancestor, if there is one.
pub fn find_cycle<'a, K: Eq + Hash>(
    nodes: impl IntoIterator<Item = &'a K>,
    parent: impl Fn(&K) -> Option<&'a K>,
) -> Option<&'a K> {
    // Each node is visited once: a walk stops where an earlier walk has been.
    let mut walk_of: HashMap<&K, usize> = HashMap::new();
    for (walk, start) in nodes.into_iter().enumerate() {
        let mut next = Some(start);
        while let Some(node) = next {
            match walk_of.insert(node, walk) {
                None => next = parent(node),
                Some(earlier) if earlier == walk => return Some(node),
                Some(earlier) => {
                    walk_of.insert(node, earlier);
                    break;
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Looks parents up by index. The result is a forest if every parent is smaller than its child.
    fn parent_in(parents: &[Option<usize>]) -> impl Fn(&usize) -> Option<usize> {
        |node| parents.get(*node).copied().flatten()
    }

    fn forest() -> impl Strategy<Value = Vec<Option<usize>>> {
        proptest::collection::vec(
            proptest::option::weighted(0.9, any::<prop::sample::Index>()),
            1..60,
        )
        .prop_map(|picks| {
            let parent = |(i, pick): (usize, Option<prop::sample::Index>)| {
                pick.filter(|_| i > 0).map(|pick| pick.index(i))
            };
            picks.into_iter().enumerate().map(parent).collect()
        })
    }

    proptest! {
        #[test]
        fn common_ancestor_is_the_first_shared_one(parents in forest(), a: prop::sample::Index,
            b: prop::sample::Index) {
            let (a, b) = (a.index(parents.len()), b.index(parents.len()));
            let of_b = ancestors(b, parent_in(&parents));
            let slow = ancestors(a,
                parent_in(&parents)).into_iter().find(|node| of_b.contains(node));
            prop_assert_eq!(common_ancestor(a, b, parent_in(&parents)), slow);
        }

        #[test]
        fn runs_cover_every_node_once_and_end_where_forks_are(parents in forest()) {
            let nodes: Vec<usize> = (0..parents.len()).collect();
            let parent = |node: &usize| parents[*node].map(|p| &nodes[p]);
            let runs = linear_runs(&nodes, parent);
            let mut covered: Vec<_> = runs.iter().flatten().copied().collect();
            covered.sort_unstable();
            prop_assert_eq!(covered, nodes.iter().collect::<Vec<_>>());
            let forks = fork_points(&nodes, parent);
            for run in &runs {
                prop_assert!(run.windows(2).all(|pair| parent(pair[1]) == Some(pair[0])));
                prop_assert!(run[..run.len() - 1].iter().all(|node| !forks.contains(node)));
            }
            prop_assert_eq!(find_cycle(&nodes, parent), None);
        }

        #[test]
        fn any_parents_at_all_end(parents in
            proptest::collection::vec(proptest::option::of(0usize..20), 1..20)) {
            let nodes: Vec<usize> = (0..parents.len()).collect();
            let parent = |node: &usize| parents[*node].and_then(|p| nodes.get(p));
            for node in &nodes {
                let path = ancestors(*node, |n| parent(n).copied());
                prop_assert!(path.len() <= nodes.len());
                common_ancestor(*node, 0, |n| parent(n).copied());
            }
            linear_runs(&nodes, parent);
            let cyclic = nodes.iter().any(|node| {
                let path = ancestors(*node, |n| parent(n).copied());
                path.last().is_some_and(|last| parent(last).is_some())
            });
            prop_assert_eq!(find_cycle(&nodes, parent).is_some(), cyclic);
        }
    }

    #[test]
    fn a_million_nodes_in_a_row() {
        let n = 1_000_000usize;
        assert_eq!(ancestors(n, |i| i.checked_sub(1)).len(), n + 1);
        assert_eq!(common_ancestor(n, n - 3, |i| i.checked_sub(1)), Some(n - 3));
    }
}
