//! Fusing the scores by words and by meaning.

use super::score::Candidate;

/// The weight of the nearest vector, as a share of the best score by words.
const MEANING: f64 = 0.8;

/// Sorts candidates, best first: by score, to which vectors add how near they are. Among equals,
/// the newest comes first.
///
/// Cosines have another scale with each embedder, so a vector counts by its place between the
/// middle one and the nearest one. If all are equally near, the order is that of the words.
pub(crate) fn fuse(candidates: &mut [Candidate]) {
    let near = |candidate: &Candidate| candidate.hit.similarity.map(f64::from);
    let mut all: Vec<f64> = candidates.iter().filter_map(near).collect();
    all.sort_by(f64::total_cmp);
    if let (Some(nearest), Some(middle)) = (all.last(), all.get(all.len().saturating_sub(1) / 2)) {
        let span = (nearest - middle).max(f64::MIN_POSITIVE);
        for candidate in &mut *candidates {
            let above = near(candidate).map_or(0.0, |near| (near - middle).max(0.0));
            candidate.score += MEANING * above / span;
        }
    }
    let newest = |candidate: &Candidate| std::cmp::Reverse(candidate.hit.stored.place);
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then(newest(a).cmp(&newest(b))));
}

#[cfg(test)]
mod tests {
    use context_core::Timestamp;
    use context_core::memory::{MemoryRecord, MemoryScope, StoredMemory};
    use context_core::store::MemoryHit;
    use proptest::prelude::*;

    use super::*;

    /// Returns candidates with these scores and similarities, in fused order.
    fn fused(of: &[(f64, Option<f32>)]) -> Vec<Candidate> {
        let candidate = |(at, (score, similarity)): (usize, &(f64, Option<f32>))| {
            let at = at as u64;
            let scope = MemoryScope::new("ada");
            let time = Timestamp::from_micros(0);
            let record = MemoryRecord::new(scope, format!("{at}"), "episode", time, "text");
            let mut candidate =
                Candidate::new(MemoryHit::new(StoredMemory::new(record, at, at), 1.0, *similarity));
            candidate.score = *score;
            candidate
        };
        let mut candidates: Vec<Candidate> = of.iter().enumerate().map(candidate).collect();
        fuse(&mut candidates);
        candidates
    }

    fn places(candidates: &[Candidate]) -> Vec<u64> {
        candidates.iter().map(|candidate| candidate.hit.stored.place).collect()
    }

    proptest! {
        #[test]
        fn what_is_better_by_words_and_by_meaning_is_better_by_both(
            of in prop::collection::vec((0.0..2.0_f64, -1.0..1.0_f32), 0..40)
        ) {
            let with: Vec<_> = of.iter().map(|(score, near)| (*score, Some(*near))).collect();
            let order = places(&fused(&with));
            let before = |a: usize, b: usize| {
                let at = |place: usize| order.iter().position(|known| *known == place as u64);
                at(a) < at(b)
            };
            for (a, (score, near)) in of.iter().enumerate() {
                for (b, (other_score, other_near)) in of.iter().enumerate() {
                    if *score > other_score + 1e-9 && near >= other_near {
                        prop_assert!(before(a, b));
                    }
                }
            }
        }

        #[test]
        fn an_embedder_that_tells_nothing_apart_changes_no_order(
            of in prop::collection::vec((0.0..2.0_f64, any::<bool>()), 0..40), near in -1.0..1.0_f32
        ) {
            let with: Vec<_> =
                of.iter().map(|(score, has)| (*score, has.then_some(near))).collect();
            let without: Vec<_> = of.iter().map(|(score, _)| (*score, None)).collect();
            prop_assert_eq!(places(&fused(&with)), places(&fused(&without)));
        }

        #[test]
        fn what_no_word_tells_apart_is_in_the_order_of_meaning(
            mut near in prop::collection::vec(-1.0..1.0_f32, 1..40)
        ) {
            near.sort_by(f32::total_cmp);
            near.dedup();
            let with: Vec<_> = near.iter().map(|near| (1.0, Some(*near))).collect();
            let order = places(&fused(&with));
            // Those above the middle; the others are as far away as the rest.
            let above = near.len() / 2;
            let expected: Vec<u64> = (0..near.len() as u64).rev().collect();
            prop_assert_eq!(&order[..above], &expected[..above]);
        }
    }
}
