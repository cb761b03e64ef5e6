//! The layout of rounds as blocks of lines.

use std::collections::HashMap;
use std::ops::Range;

use context_runtime::trajectory::RoundHead;

/// A round that no step of the run called, with all rounds that were called from it.
#[derive(Debug)]
pub(super) struct Block {
    /// The first line.
    pub(super) first: usize,
    /// The number of lines.
    pub(super) lines: usize,
    /// The positions of its heads, its own round first.
    pub(super) members: Vec<u32>,
}

/// The blocks of a run, in order.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) blocks: Vec<Block>,
    /// For each head, its block.
    pub(super) block_of: Vec<u32>,
    /// For each head that has some, the rounds called from it: the number of the step and the head.
    pub(super) called: HashMap<u32, Vec<(u32, u32)>>,
}

impl Layout {
    /// Lays out rounds that are sorted by agent and number.
    pub(super) fn of(heads: &[RoundHead]) -> Self {
        let index: HashMap<(u32, u32), u32> = (0..)
            .zip(heads)
            .map(|(at, head)| ((head.round.agent.agent, head.round.round), at))
            .collect();
        let mut layout = Self { block_of: vec![u32::MAX; heads.len()], ..Self::default() };
        let mut roots = Vec::new();
        let mut before: Option<(u32, Option<(u32, u32)>)> = None;
        for (at, head) in (0_u32..).zip(heads) {
            let agent = head.round.agent.agent;
            let named = head.parent.and_then(|parent| {
                let of = *index.get(&(parent.agent, parent.node.round))?;
                (parent.agent != agent).then_some((of, parent.node.ordinal))
            });
            // Only the first round of a sub-agent has to name its caller.
            let inherited = before.filter(|(of, _)| *of == agent && agent != 0);
            let parent = named.or(inherited.and_then(|(_, parent)| parent));
            before = Some((agent, parent));
            match parent {
                Some((of, step)) => layout.called.entry(of).or_default().push((step, at)),
                None => roots.push(at),
            }
        }
        // Rounds that call each other in a circle, which only a damaged record has, come last.
        for root in roots.into_iter().chain(0..heads.len() as u32) {
            layout.add(root, heads);
        }
        layout
    }

    fn add(&mut self, root: u32, heads: &[RoundHead]) {
        let number = self.blocks.len() as u32;
        let (mut members, mut open, mut lines) = (Vec::new(), vec![root], 0);
        while let Some(at) = open.pop() {
            let block = &mut self.block_of[at as usize];
            if *block != u32::MAX {
                continue;
            }
            *block = number;
            lines += heads[at as usize].nodes as usize;
            members.push(at);
            open.extend(self.called.get(&at).into_iter().flatten().map(|(_, child)| *child));
        }
        if !members.is_empty() {
            let first = self.lines();
            self.blocks.push(Block { first, lines, members });
        }
    }

    pub(super) fn lines(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.first + block.lines)
    }

    /// Returns the blocks that have some of these lines.
    pub(super) fn blocks_of(&self, lines: Range<usize>) -> Range<usize> {
        if lines.is_empty() {
            return 0..0;
        }
        let first = self.blocks.partition_point(|block| block.first + block.lines <= lines.start);
        first..self.blocks.partition_point(|block| block.first < lines.end).max(first)
    }
}
