//! Lists of shared runs, of which chains and conversations are made.
//!
//! A list is persistent: a clone increments a reference count, and a change copies at most one
//! block of runs. Blocks and runs are shared by all lists that were made from one another.

use std::sync::{Arc, OnceLock};

/// Maximum number of items in a run that grows item by item.
pub(crate) const RUN: usize = 64;
/// Maximum number of runs in a block.
const BLOCK: usize = 64;

/// Some neighbouring items of a list, which never change.
pub(crate) trait Run: Clone {
    /// The thing that a block of these runs stands for: a [block](SharedBlock) of other runs, see
    /// [`Runs::image`], or nothing.
    type Image: Clone;

    /// Returns the number of items.
    fn len(&self) -> usize;
}

/// A list of runs.
pub(crate) struct Runs<R: Run>(Arc<Vec<Placed<SharedBlock<R>>>>);

/// A block as lists share it.
pub(crate) type SharedBlock<R> = Arc<Block<R>>;

/// Some neighbouring runs.
pub(crate) struct Block<R: Run> {
    len: usize,
    runs: Vec<Placed<R>>,
    /// The thing that the block stands for. Computed on first use, and shared by all lists that
    /// have the block.
    image: OnceLock<R::Image>,
}

#[derive(Clone)]
struct Placed<T> {
    /// Position of the first item in what the value is a part of.
    start: usize,
    value: T,
}

impl<R: Run> Block<R> {
    /// Returns an iterator over the runs.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &R> {
        self.runs.iter().map(|run| &run.value)
    }

    fn of(runs: impl IntoIterator<Item = R>) -> Self {
        let mut block = Self { len: 0, runs: Vec::new(), image: OnceLock::new() };
        runs.into_iter().for_each(|run| block.push(run));
        block
    }

    fn push(&mut self, run: R) {
        let len = run.len();
        self.image = OnceLock::new();
        self.runs.push(Placed { start: self.len, value: run });
        self.len += len;
    }
}

impl<R: Run> Clone for Block<R> {
    fn clone(&self) -> Self {
        Self { len: self.len, runs: self.runs.clone(), image: self.image.clone() }
    }
}

/// Returns the index of the part with a position.
fn part<T>(parts: &[Placed<T>], position: usize) -> Option<usize> {
    parts.partition_point(|part| part.start <= position).checked_sub(1)
}

impl<R: Run> Runs<R> {
    /// Returns the number of items.
    pub(crate) fn len(&self) -> usize {
        self.0.last().map_or(0, |block| block.start + block.value.len)
    }

    /// Returns a double-ended iterator over the runs.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &R> {
        self.0.iter().flat_map(|block| &block.value.runs).map(|run| &run.value)
    }

    /// Returns an iterator over the blocks. Lists that were made from one another share blocks, and
    /// equal addresses mean equal runs.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &SharedBlock<R>> {
        self.0.iter().map(|block| &block.value)
    }

    /// Returns the newest run.
    pub(crate) fn last(&self) -> Option<&R> {
        Some(&self.0.last()?.value.runs.last()?.value)
    }

    /// Returns the run with a position, and the position of its first item.
    pub(crate) fn at(&self, position: usize) -> Option<(usize, &R)> {
        let block = &self.0[part(&self.0, position)?];
        let run = &block.value.runs[part(&block.value.runs, position - block.start)?];
        let start = block.start + run.start;
        (position - start < run.value.len()).then_some((start, &run.value))
    }

    /// Appends a run. An empty one is left out.
    pub(crate) fn push(&mut self, run: R) {
        if run.len() == 0 {
            return;
        }
        let start = self.len();
        let blocks = Arc::make_mut(&mut self.0);
        match blocks.last_mut().filter(|last| last.value.runs.len() < BLOCK) {
            Some(last) => Arc::make_mut(&mut last.value).push(run),
            None => blocks.push(Placed { start, value: Arc::new(Block::of([run])) }),
        }
    }

    /// Replaces the newest run by one that has its items and perhaps more.
    pub(crate) fn change_last(&mut self, change: impl FnOnce(&mut R)) {
        let Some(last) = Arc::make_mut(&mut self.0).last_mut() else { return };
        let block = Arc::make_mut(&mut last.value);
        block.image = OnceLock::new();
        if let Some(run) = block.runs.last_mut() {
            change(&mut run.value);
            block.len = run.start + run.value.len();
        }
    }

    /// Replaces the run with a position by another one of the same length.
    pub(crate) fn change(&mut self, position: usize, change: impl FnOnce(usize, &R) -> R) {
        let Some(at) = part(&self.0, position) else { return };
        let Placed { start, value } = &mut Arc::make_mut(&mut self.0)[at];
        let block = Arc::make_mut(value);
        let within = position - *start;
        block.image = OnceLock::new();
        if let Some(run) = part(&block.runs, within).and_then(|at| block.runs.get_mut(at)) {
            run.value = change(within - run.start, &run.value);
        }
    }

    /// Returns the first `len` items. Whole blocks and runs are shared; `cut` shortens a run.
    pub(crate) fn prefix(&self, len: usize, cut: impl Fn(&R, usize) -> R) -> Self {
        if len >= self.len() {
            return self.clone();
        }
        let whole = |block: &&Placed<SharedBlock<R>>| block.start + block.value.len <= len;
        let blocks: Vec<_> = self.0.iter().take_while(whole).cloned().collect();
        let rest = self.0.get(blocks.len());
        let mut runs = Self(Arc::new(blocks));
        for run in rest.into_iter().flat_map(|block| &block.value.runs) {
            match len - runs.len() {
                0 => break,
                left if left >= run.value.len() => runs.push(run.value.clone()),
                left => runs.push(cut(&run.value, left)),
            }
        }
        runs
    }

    /// Returns the list of what the runs stand for. `of` is called once for each run of a block,
    /// however many lists have the block.
    pub(crate) fn image<S: Run>(&self, of: impl Fn(&R) -> S) -> Runs<S>
    where
        R: Run<Image = SharedBlock<S>>,
    {
        let image = |block: &Block<R>| {
            let images = block.runs.iter().map(|run| of(&run.value));
            Arc::new(Block::of(images.filter(|image| image.len() > 0)))
        };
        let mut start = 0;
        let place = |block: &Placed<SharedBlock<R>>| {
            let value = Arc::clone(block.value.image.get_or_init(|| image(&block.value)));
            let placed = Placed { start, value };
            start += placed.value.len;
            placed
        };
        let images = self.0.iter().map(place).filter(|block| block.value.len > 0);
        Runs(Arc::new(images.collect()))
    }
}

impl<R: Run> FromIterator<R> for Runs<R> {
    fn from_iter<I: IntoIterator<Item = R>>(runs: I) -> Self {
        let mut list = Self::default();
        runs.into_iter().for_each(|run| list.push(run));
        list
    }
}

impl<R: Run> Clone for Runs<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R: Run> Default for Runs<R> {
    fn default() -> Self {
        Self(Arc::default())
    }
}
