//! Fusing the orders by words and by meaning.

use super::score::Candidate;

/// The constant of reciprocal rank fusion, which limits the weight of the first places (Cormack,
/// Clarke and Büttcher, 2009).
const K: f64 = 60.0;

/// Sorts candidates, best first: by score, or with vectors by the sum of the reciprocal ranks in
/// both orders. Among equals, the newest comes first.
pub(crate) fn fuse(candidates: &mut [Candidate]) {
    let newest = |candidate: &Candidate| std::cmp::Reverse(candidate.hit.stored.place);
    if candidates.iter().any(|candidate| candidate.hit.similarity.is_some()) {
        let by_words = places(candidates, |candidate| candidate.score);
        let by_meaning =
            places(candidates, |candidate| candidate.hit.similarity.map_or(f64::MIN, f64::from));
        for ((candidate, words), meaning) in candidates.iter_mut().zip(by_words).zip(by_meaning) {
            let by_words = if candidate.fits { 1.0 / (K + words as f64) } else { 0.0 };
            let by_meaning =
                if candidate.hit.similarity.is_some() { 1.0 / (K + meaning as f64) } else { 0.0 };
            candidate.score = by_words + by_meaning;
        }
    }
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then(newest(a).cmp(&newest(b))));
}

/// Returns the rank of each candidate in an order, from 1 for the best.
fn places(candidates: &[Candidate], by: impl Fn(&Candidate) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| by(&candidates[*b]).total_cmp(&by(&candidates[*a])));
    let mut places = vec![0; candidates.len()];
    for (place, candidate) in order.into_iter().enumerate() {
        places[candidate] = place + 1;
    }
    places
}
