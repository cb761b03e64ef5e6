//! Shrinking of a failing list: parts are left out as long as what is left fails too.

/// Returns a shorter list that fails. Leaves out runs, first long ones, in at most `tries` tries.
pub(crate) fn shortest<T: Clone>(
    mut all: Vec<T>,
    mut tries: usize,
    mut fails: impl FnMut(&[T]) -> bool,
) -> Vec<T> {
    let mut run = all.len().div_ceil(2).max(1);
    loop {
        let before = all.len();
        let mut end = all.len();
        while end > 0 {
            let Some(left) = tries.checked_sub(1) else { return all };
            tries = left;
            let begin = end.saturating_sub(run);
            let mut fewer = all.clone();
            fewer.drain(begin..end);
            if fails(&fewer) {
                all = fewer;
            }
            end = begin.min(all.len());
        }
        if run == 1 && all.len() == before {
            return all;
        }
        if run > 1 {
            run = run.div_ceil(2).min(all.len().max(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_goes() {
        let needs = |all: &[u32]| all.contains(&3) && all.contains(&77);
        assert_eq!(shortest((0..1_000).collect(), 400, needs), [3, 77]);
        assert!(shortest((0..100).collect::<Vec<u32>>(), 400, |_| true).is_empty());
        assert_eq!(shortest(vec![1, 2], 0, |_| true), [1, 2]);
    }
}
