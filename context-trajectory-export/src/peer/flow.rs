//! Finding the edges to remove so that a graph has no cycle.

use std::collections::HashMap;

/// Returns for each edge between numbered nodes whether it closes a cycle with the edges that stay.
/// The search starts at `first`, so an edge that leads back to the start is the one that is
/// removed. Linear.
pub(super) fn closing(nodes: usize, first: Option<usize>, edges: &[(usize, usize)]) -> Vec<bool> {
    let mut from: HashMap<usize, Vec<usize>> = HashMap::new();
    for (index, (source, _)) in edges.iter().enumerate() {
        from.entry(*source).or_default().push(index);
    }
    #[derive(Clone, Copy, PartialEq)]
    enum VisitState {
        Not,
        Above,
        Done,
    }
    let mut states = vec![VisitState::Not; nodes];
    let mut closing = vec![false; edges.len()];
    for start in first.into_iter().chain(0..nodes) {
        if states[start] != VisitState::Not {
            continue;
        }
        states[start] = VisitState::Above;
        let mut open = vec![(start, 0)];
        while let Some((node, at)) = open.last_mut() {
            let Some(index) =
                from.get(node).and_then(|edge_indices| edge_indices.get(*at)).copied()
            else {
                states[*node] = VisitState::Done;
                open.pop();
                continue;
            };
            *at += 1;
            let to = edges[index].1;
            match states[to] {
                VisitState::Above => closing[index] = true,
                VisitState::Done => {}
                VisitState::Not => {
                    states[to] = VisitState::Above;
                    open.push((to, 0));
                }
            }
        }
    }
    closing
}

#[cfg(test)]
mod tests {
    use super::closing;

    #[test]
    fn edges_back_go_and_others_stay() {
        let edges = [(1, 0), (0, 1), (0, 2), (1, 2), (2, 2)];
        assert_eq!(closing(3, Some(0), &edges), [true, false, false, false, true]);
        assert_eq!(closing(3, None, &[]), Vec::<bool>::new());
    }
}
