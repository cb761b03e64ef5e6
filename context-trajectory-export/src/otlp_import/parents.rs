//! Parents of spans, as positions in a list.

/// The parent of each span, if it has one.
pub(super) type Parents = Vec<Option<usize>>;

#[derive(Clone, Copy)]
enum Around {
    Unknown,
    /// On the way that is being followed.
    Visited,
    Known(Option<usize>),
}

/// Returns, for each span, the nearest one around it that is wanted. In a circle of wanted spans
/// this may be the span itself.
pub(super) fn nearest(parents: &Parents, is_wanted: impl Fn(usize) -> bool) -> Parents {
    let mut around = vec![Around::Unknown; parents.len()];
    for start in 0..parents.len() {
        let (mut way, mut at) = (Vec::new(), start);
        let found = loop {
            match around[at] {
                Around::Known(found) => break found,
                // A circle without a wanted span.
                Around::Visited => break None,
                Around::Unknown => {}
            }
            around[at] = Around::Visited;
            way.push(at);
            match parents[at] {
                Some(parent) if !is_wanted(parent) => at = parent,
                found => break found,
            }
        };
        for at in way {
            around[at] = Around::Known(found);
        }
    }
    let known = |around| match around {
        Around::Known(found) => found,
        Around::Unknown | Around::Visited => None,
    };
    around.into_iter().map(known).collect()
}

/// Takes the parent of the first span of each circle, so that every span is reached from one
/// without a parent. Returns the number of circles.
pub(super) fn cut_circles(parents: &mut Parents) -> usize {
    let mut seen_from = vec![None; parents.len()];
    let mut circles = 0;
    for start in 0..parents.len() {
        let mut next = Some(start);
        while let Some(at) = next.filter(|at| seen_from[*at].is_none()) {
            seen_from[at] = Some(start);
            next = parents[at];
        }
        let Some(met) = next.filter(|at| seen_from[*at] == Some(start)) else { continue };
        let (mut first, mut next) = (met, parents[met]);
        while let Some(at) = next.filter(|at| *at != met) {
            (first, next) = (first.min(at), parents[at]);
        }
        parents[first] = None;
        circles += 1;
    }
    circles
}
