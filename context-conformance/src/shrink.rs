//! Making a failing sequence shorter.

/// How often a failing sequence is tried again with a step less.
const TRIES: usize = 400;

/// Takes steps away one by one, from the end, as long as it still fails.
pub(crate) struct Shrinker<T> {
    steps: Vec<T>,
    /// The step that is tried without.
    at: usize,
    /// How many steps there were when this round through them began.
    before: usize,
    tries: usize,
}

impl<T: Clone> Shrinker<T> {
    pub(crate) fn new(steps: Vec<T>) -> Self {
        Self { at: steps.len(), before: usize::MAX, steps, tries: TRIES }
    }

    /// The next sequence to try; nothing once a round brought nothing, or after many tries.
    pub(crate) fn fewer(&mut self) -> Option<Vec<T>> {
        if self.at == 0 {
            if self.steps.len() == self.before {
                return None;
            }
            self.at = self.steps.len();
        }
        if self.at == self.steps.len() {
            self.before = self.steps.len();
        }
        self.at = self.at.checked_sub(1)?;
        self.tries = self.tries.checked_sub(1)?;
        let mut fewer = self.steps.clone();
        fewer.remove(self.at);
        Some(fewer)
    }

    /// What was tried fails as well: go on from there.
    pub(crate) fn fails_too(&mut self) {
        self.steps.remove(self.at);
    }

    pub(crate) fn shortest(self) -> Vec<T> {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortest(steps: Vec<u32>, fails: impl Fn(&[u32]) -> bool) -> Vec<u32> {
        let mut shrinker = Shrinker::new(steps);
        while let Some(fewer) = shrinker.fewer() {
            if fails(&fewer) {
                shrinker.fails_too();
            }
        }
        shrinker.shortest()
    }

    #[test]
    fn what_is_not_needed_goes() {
        let needs = |steps: &[u32]| steps.contains(&3) && steps.contains(&7);
        assert_eq!(shortest((0..20).collect(), needs), [3, 7]);
        assert_eq!(shortest(vec![7, 3], needs), [7, 3]);
        assert!(shortest((0..20).collect(), |_| true).is_empty());
        assert_eq!(shortest((0..2000).collect(), |_| true).len(), 2000 - TRIES);
        // Only after the last went, the first can.
        assert!(shortest(vec![1, 2, 3], |steps| steps.contains(&1) || steps.len() < 2).is_empty());
    }
}
