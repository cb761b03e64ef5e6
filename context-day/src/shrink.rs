//! Leaving out of what a failure does not need.

/// Shortens a list that fails, in a limited number of tries.
pub(crate) struct Shrinker<F> {
    tries: usize,
    fails: F,
}

impl<F> Shrinker<F> {
    /// `fails` tells how many of its elements a list needs to fail. `None`: it does not fail.
    pub(crate) fn new(tries: usize, fails: F) -> Self {
        Self { tries, fails }
    }

    /// Leaves out all elements with the same key at once, for each key, as far as it still fails.
    pub(crate) fn by_key<T, K>(&mut self, mut all: Vec<T>, key: impl Fn(&T) -> Option<K>) -> Vec<T>
    where
        T: Clone,
        K: PartialEq,
        F: FnMut(&[T]) -> Option<usize>,
    {
        let mut keys: Vec<K> = Vec::new();
        for known in all.iter().filter_map(&key) {
            if !keys.contains(&known) {
                keys.push(known);
            }
        }
        for one in keys {
            let others = all.iter().filter(|element| key(element).as_ref() != Some(&one));
            let others: Vec<T> = others.cloned().collect();
            if others.len() < all.len()
                && let Some(shorter) = self.try_one(others)
            {
                all = shorter;
            }
        }
        all
    }

    /// Leaves out runs, first long ones, and at last each element.
    pub(crate) fn by_runs<T: Clone>(&mut self, mut all: Vec<T>) -> Vec<T>
    where
        F: FnMut(&[T]) -> Option<usize>,
    {
        let mut run = all.len().div_ceil(2).max(1);
        loop {
            let before = all.len();
            let mut end = all.len();
            while end > 0 && self.tries > 0 {
                let begin = end.saturating_sub(run);
                let mut fewer = all.clone();
                fewer.drain(begin..end);
                if let Some(shorter) = self.try_one(fewer) {
                    all = shorter;
                }
                end = begin.min(all.len());
            }
            if self.tries == 0 || (run == 1 && all.len() == before) {
                return all;
            }
            run = run.div_ceil(2).min(all.len().max(1));
        }
    }

    /// Returns what such a list needs of its beginning to fail.
    fn try_one<T>(&mut self, mut fewer: Vec<T>) -> Option<Vec<T>>
    where
        F: FnMut(&[T]) -> Option<usize>,
    {
        self.tries = self.tries.checked_sub(1)?;
        let needed = (self.fails)(&fewer)?;
        fewer.truncate(needed);
        Some(fewer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_goes() {
        let needs = |all: &[u32]| {
            let last = all.iter().position(|number| *number == 77)?;
            all[..last].contains(&3).then_some(last + 1)
        };
        let all = || (0..1_000).collect::<Vec<u32>>();
        assert_eq!(Shrinker::new(400, needs).by_runs(all()), [3, 77]);
        let multiples = Shrinker::new(400, needs).by_key(all(), |number| Some(number % 10));
        assert_eq!(multiples, [3, 7, 13, 17, 23, 27, 33, 37, 43, 47, 53, 57, 63, 67, 73, 77]);
        let none = Shrinker::new(400, |_: &[u32]| Some(0)).by_runs(all());
        assert!(none.is_empty());
        assert_eq!(Shrinker::new(0, needs).by_runs(vec![3, 5, 77]), [3, 5, 77]);
    }
}
