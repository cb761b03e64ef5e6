//! Drawing a message graph with characters: a pure function from nodes to lines.
//!
//! The heaviest child of a fork goes on below its parent, the others are drawn to the right before it. So the
//! drawing is never deeper than the logarithm of the number of nodes, whatever the graph, and nothing recurses.
//! Runs of nodes where nothing happens are drawn as one line that counts them.

use std::collections::HashMap;

use crate::text::count;

/// A node to draw.
#[derive(Clone, Debug)]
pub(crate) struct Dot<'a> {
    /// Names it.
    pub(crate) id: &'a str,
    /// What it follows. Parents come before their children; one that does not, or is missing, counts as none.
    pub(crate) parent: Option<&'a str>,
    /// What is written beside it.
    pub(crate) label: String,
    /// Whether it is always shown.
    pub(crate) marked: bool,
}

/// The lines of the drawing, oldest first; a blank line between trees.
pub(crate) fn draw(dots: &[Dot<'_>]) -> Vec<String> {
    let children = Children::of(dots);
    let mut lines = Vec::new();
    // Runs still to be drawn: where each begins, what stands left of it, and whether it hangs on a fork.
    let mut todo: Vec<(usize, String, bool)> = Vec::new();
    for root in &children.roots {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        todo.push((*root, String::new(), false));
        while let Some((start, left, hangs)) = todo.pop() {
            let mut run = vec![start];
            let mut end = start;
            while let [only] = children.of[end].as_slice() {
                end = *only;
                run.push(end);
            }
            let inner = if hangs { format!("{left}│ ") } else { left.clone() };
            draw_run(dots, &run, &left, &inner, hangs, &mut lines);
            let Some((trunk, sides)) = children.of[end].split_last() else { continue };
            todo.push((*trunk, inner.clone(), false));
            todo.extend(sides.iter().rev().map(|side| (*side, inner.clone(), true)));
        }
    }
    lines
}

fn draw_run(dots: &[Dot<'_>], run: &[usize], left: &str, inner: &str, hangs: bool, lines: &mut Vec<String>) {
    let is_shown = |i: usize| i == 0 || i + 1 == run.len() || dots[run[i]].marked;
    let mut i = 0;
    while i < run.len() {
        let hidden = (i..run.len()).take_while(|i| !is_shown(*i)).count();
        if hidden > 1 {
            lines.push(format!("{inner}⋮ {}", count(hidden, "message")));
            i += hidden;
            continue;
        }
        let label = &dots[run[i]].label;
        lines.push(match hangs && i == 0 {
            true => format!("{left}├─● {label}"),
            false => format!("{inner}● {label}"),
        });
        i += 1;
    }
}

/// The children of every node, the heaviest last.
struct Children {
    roots: Vec<usize>,
    of: Vec<Vec<usize>>,
}

impl Children {
    fn of(dots: &[Dot<'_>]) -> Self {
        let mut index = HashMap::with_capacity(dots.len());
        let mut parents = Vec::with_capacity(dots.len());
        for (i, dot) in dots.iter().enumerate() {
            // Only what came before can be found, so there are no cycles.
            parents.push(dot.parent.and_then(|parent| index.get(parent).copied()));
            index.insert(dot.id, i);
        }
        let mut weight = vec![1usize; dots.len()];
        for (i, parent) in parents.iter().enumerate().rev() {
            if let Some(parent) = parent {
                weight[*parent] += weight[i];
            }
        }
        let mut children = Self { roots: Vec::new(), of: vec![Vec::new(); dots.len()] };
        for (i, parent) in parents.iter().enumerate() {
            match parent {
                Some(parent) => children.of[*parent].push(i),
                None => children.roots.push(i),
            }
        }
        for list in &mut children.of {
            if let Some(heaviest) = (0..list.len()).max_by_key(|at| (weight[list[*at]], *at)) {
                let trunk = list.remove(heaviest);
                list.push(trunk);
            }
        }
        children
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws `id<parent` words; `!` marks.
    fn drawing(words: &str) -> String {
        let dots: Vec<_> = words
            .split_whitespace()
            .map(|word| {
                let marked = word.ends_with('!');
                let word = word.trim_end_matches('!');
                let (id, parent) =
                    word.split_once('<').map_or((word, None), |(id, parent)| (id, Some(parent)));
                Dot { id, parent, label: id.to_owned(), marked }
            })
            .collect();
        draw(&dots).join("\n")
    }

    #[test]
    fn a_line_is_collapsed_between_what_matters() {
        insta::assert_snapshot!(drawing("a b<a c<b d<c! e<d f<e"), @r"
        ● a
        ⋮ 2 messages
        ● d
        ● e
        ● f
        ");
    }

    #[test]
    fn forks_hang_to_the_right_and_the_longest_goes_on() {
        insta::assert_snapshot!(drawing("a b<a x<b y<x z<y c<b d<c p<c q<b e<d"), @r"
        ● a
        ● b
        ├─● x
        │ ● y
        │ ● z
        ├─● q
        ● c
        ├─● p
        ● d
        ● e
        ");
    }

    #[test]
    fn a_fork_of_a_fork_and_a_second_root() {
        insta::assert_snapshot!(drawing("a b<a c<b d<a e<d f<d g<a h<g i<h j<i k<j r s<r"), @r"
        ● a
        ├─● b
        │ ● c
        ├─● d
        │ ├─● e
        │ ● f
        ● g
        ⋮ 3 messages
        ● k

        ● r
        ● s
        ");
    }

    #[test]
    fn nothing_is_nothing_and_a_lost_parent_is_a_root() {
        assert_eq!(drawing(""), "");
        assert_eq!(drawing("a<b b<a"), "● a\n● b");
    }

    /// A comb with a tooth at every node: recursion or indentation by depth would show.
    #[test]
    fn a_hundred_thousand_forks_stay_narrow() {
        let ids: Vec<_> = (0..100_000).map(|i| i.to_string()).collect();
        let dot = |i: usize, parent: Option<usize>| Dot {
            id: &ids[i],
            parent: parent.map(|parent| ids[parent].as_str()),
            label: String::new(),
            marked: false,
        };
        let dots: Vec<_> =
            (0..ids.len()).map(|i| dot(i, if i % 2 == 0 { i.checked_sub(2) } else { Some(i - 1) })).collect();
        let lines = draw(&dots);
        assert_eq!(lines.len(), ids.len());
        assert!(lines.iter().all(|line| line.chars().count() <= 6));
    }
}
