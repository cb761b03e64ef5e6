//! Shrinking of a failing sequence.

/// The maximum number of shorter sequences to try.
const TRIES: usize = 400;

/// A search for a shorter failing sequence, which removes single steps from the end.
pub(crate) struct Shrinker<T> {
    steps: Vec<T>,
    /// The step that the current try leaves out.
    at: usize,
    /// The number of steps when this pass over them began.
    before: usize,
    tries: usize,
}

impl<T: Clone> Shrinker<T> {
    pub(crate) fn new(steps: Vec<T>) -> Self {
        Self { at: steps.len(), before: usize::MAX, steps, tries: TRIES }
    }

    /// Returns the next sequence to try. Returns `None` after a pass without progress, or after
    /// [`TRIES`] tries.
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

    /// Keeps the last try, since it fails too.
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
        // The first element can only be removed after the last one.
        assert!(shortest(vec![1, 2, 3], |steps| steps.contains(&1) || steps.len() < 2).is_empty());
    }
}
