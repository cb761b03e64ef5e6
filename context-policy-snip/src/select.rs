//! Selection of the groups that stay.

use std::ops::Range;

use context_core::history::{HistoryView, Structure, ToolNames};
use context_core::{Part, Role};

use crate::gap::GapCount;
use crate::linked_groups::LinkedGroups;

/// The groups of a conversation, and which of them stay.
#[derive(Debug)]
pub(crate) struct Selection<'a, 'v> {
    view: &'a HistoryView<'v>,
    structure: &'a Structure,
    linked_groups: LinkedGroups,
    kept_groups: Vec<bool>,
    /// The number of tokens that stay.
    tokens: u64,
    /// The largest number of tokens of a gap.
    gap: u64,
}

impl<'a, 'v> Selection<'a, 'v> {
    /// Selects only what must stay: checkpoints and system messages in front, and the view's
    /// anchors.
    pub(crate) fn new(view: &'a HistoryView<'v>) -> Self {
        let structure = view.structure();
        let messages = view.messages();
        let linked_groups = LinkedGroups::of(messages, structure);
        let all = GapCount::of(messages);
        let gap = view.count(&all.to_message());
        let kept_groups = vec![false; structure.groups.len()];
        let mut selection = Self { view, structure, linked_groups, kept_groups, tokens: 0, gap };
        let front = messages
            .iter()
            .take_while(|message| message.is_checkpoint() || message.role == Role::System);
        selection.keep_messages(0..front.count());
        view.anchors().positions().for_each(|at| selection.keep_messages(at..at + 1));
        selection
    }

    fn group_tokens(&self, group: usize) -> u64 {
        self.view.tokens_of(self.structure.groups[group].clone())
    }

    fn is_gap(&self, group: usize) -> bool {
        let range = self.structure.groups[group].clone();
        self.view.messages()[range].iter().all(|message| message.is_gap())
    }

    fn keep(&mut self, group: usize) {
        for at in 0..self.linked_groups.linked_with(group).len() {
            let member = self.linked_groups.linked_with(group)[at];
            if !self.kept_groups[member] {
                self.kept_groups[member] = true;
                self.tokens = self.tokens.saturating_add(self.group_tokens(member));
            }
        }
    }

    /// Keeps the groups of these messages.
    pub(crate) fn keep_messages(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let Some(group) = self.structure.group_of(at) else { return };
            // A gap at the end of a turn may grow. If nothing is added to it, it stays anyway.
            if !self.is_gap(group) {
                self.keep(group);
            }
            at = self.structure.groups[group].end;
        }
    }

    /// Keeps these groups and those linked with them, if the total is then at most `target`.
    fn keep_within(&mut self, groups: &[usize], target: u64) -> bool {
        let mut new: Vec<usize> = groups
            .iter()
            .flat_map(|group| self.linked_groups.linked_with(*group))
            .copied()
            .filter(|at| !self.kept_groups[*at])
            .collect();
        new.sort_unstable();
        new.dedup();
        let tokens = new.iter().map(|group| self.group_tokens(*group)).fold(0, u64::saturating_add);
        let fits = self.tokens.saturating_add(tokens) <= target;
        if fits {
            new.iter().for_each(|group| self.keep(*group));
        }
        fits
    }

    /// Keeps the newest step, whatever its size.
    pub(crate) fn keep_newest_step(&mut self) {
        let newest = (0..self.kept_groups.len()).rev().find(|group| !self.is_gap(*group));
        newest.into_iter().for_each(|group| self.keep(group));
    }

    /// Keeps the newest groups, one after another, as long as all fit.
    pub(crate) fn keep_newest(&mut self, target: u64) {
        let target = target.saturating_sub(self.gap_count().saturating_mul(self.gap));
        for group in (0..self.kept_groups.len()).rev() {
            if !self.is_gap(group)
                && !self.kept_groups[group]
                && !self.keep_within(&[group], target)
            {
                return;
            }
        }
    }

    /// Returns the largest possible number of gaps, whatever else stays at the end.
    fn gap_count(&self) -> u64 {
        self.all_gaps().len() as u64
    }

    /// Keeps groups with results of these tools, and the requests they belong to, the newest first,
    /// as long as all fit.
    pub(crate) fn keep_protected(&mut self, tools: &ToolNames, target: u64) {
        let mut gaps = self.gap_count();
        for group in (0..self.kept_groups.len()).rev() {
            let range = self.structure.groups[group].clone();
            let calls =
                self.view.messages()[range.clone()].iter().flat_map(|message| &message.parts);
            let mut names = calls.filter_map(|part| match part {
                Part::ToolCall(call) => Some(call.name.as_str()),
                _ => None,
            });
            if !names.any(|name| tools.contains(name)) {
                continue;
            }
            let before = self.structure.requests.partition_point(|request| *request < range.start);
            let request = before.checked_sub(1).map(|at| self.structure.requests[at]);
            let request = request.and_then(|request| self.structure.group_of(request));
            let both: Vec<usize> = request.into_iter().chain([group]).collect();
            // A group that stays for another reason still needs its request.
            if both.iter().all(|group| self.kept_groups[*group]) {
                continue;
            }
            // A group separate from others may need a gap on each side, and so may its request.
            let needed = gaps.saturating_add(2);
            if self.keep_within(&both, target.saturating_sub(needed.saturating_mul(self.gap))) {
                gaps = needed;
            }
        }
    }

    /// Returns the messages that are left out, in runs by gap. Each gap is larger than its note.
    pub(crate) fn gaps(&self) -> Vec<Vec<Range<usize>>> {
        let messages = self.view.messages();
        let is_worth = |gap: &Vec<Range<usize>>| {
            let note = GapCount::of_runs(messages, gap).to_message();
            let tokens: u64 = gap.iter().map(|run| self.view.tokens_of(run.clone())).sum();
            gap.iter().cloned().flatten().any(|at| !messages[at].is_gap())
                && self.view.count(&note) < tokens
        };
        let (go, stay): (Vec<_>, Vec<_>) = self.all_gaps().into_iter().partition(is_worth);
        self.closed(go, stay)
    }

    /// Returns everything that is not kept, in runs by gap.
    fn all_gaps(&self) -> Vec<Vec<Range<usize>>> {
        let mut is_left_out = vec![false; self.view.messages().len()];
        for (group, range) in self.structure.groups.iter().enumerate() {
            is_left_out[range.clone()].fill(!self.kept_groups[group]);
        }
        self.view.gaps(|at| is_left_out[at])
    }

    /// Drops gaps whose removal would separate linked groups from each other.
    fn closed(
        &self,
        go: Vec<Vec<Range<usize>>>,
        stay: Vec<Vec<Range<usize>>>,
    ) -> Vec<Vec<Range<usize>>> {
        let is_linked = |group: usize| self.linked_groups.linked_with(group).len() > 1;
        let groups = |run: &Range<usize>| {
            let from = self.structure.groups.partition_point(|group| group.end <= run.start);
            let to = self.structure.groups.partition_point(|group| group.end <= run.end);
            from..to
        };
        let has_linked = |gap: &Vec<Range<usize>>| gap.iter().flat_map(groups).any(is_linked);
        match stay.iter().any(has_linked) {
            // A gap too small to be worth a note holds half of a pair. This is rare; then only gaps
            // without linked groups are left out.
            true => go.into_iter().filter(|gap| !has_linked(gap)).collect(),
            false => go,
        }
    }
}
