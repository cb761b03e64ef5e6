//! The policy.

use context_core::CompactionPolicy;
use context_core::history::{
    BoundaryKind, Edit, Goal, HistoryView, Plan, PlanError, PolicyKind, Proposal, ToolNames,
};

use crate::gap::GapCount;
use crate::select::Selection;

/// Leaves out the middle of a conversation.
///
/// The view's [anchors](context_core::history::Anchors) stay, such as the first and the newest
/// request and pinned messages, and so do checkpoints and system messages in front, and the newest
/// step. Calls and their results stay or go together, wherever they stand. Each gap is
/// one message, marked [synthetic](context_core::Message::is_synthetic) and as a
/// [gap](context_core::Message::is_gap); one that is left out again is counted in the new one, so gaps do not
/// pile up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snip {
    keep: Keep,
    protected: ToolNames,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    /// The newest groups that fit.
    Fitting,
    /// The first and the last turns.
    Turns { head: usize, tail: usize },
}

impl Default for Snip {
    fn default() -> Self {
        Self::new()
    }
}

impl Snip {
    /// Default number of turns kept at the beginning, when selecting by turns.
    pub const HEAD: usize = 2;
    /// Default number of turns kept at the end, when selecting by turns.
    pub const TAIL: usize = 4;

    /// Creates a policy that leaves out as much as the goal asks. Steps with
    /// [stateful](ToolNames::stateful) tools and their requests are kept first, then the newest
    /// steps, as long as they fit. If the target is met, nothing is left out.
    pub fn new() -> Self {
        Self { keep: Keep::Fitting, protected: ToolNames::stateful() }
    }

    /// Creates a policy that leaves out all turns but the first two and the last four, whatever the
    /// goal. No tool is protected.
    pub fn by_turns() -> Self {
        let keep = Keep::Turns { head: Self::HEAD, tail: Self::TAIL };
        Self { keep, protected: ToolNames::default() }
    }

    /// Selects by turns and sets how many are kept at both ends. The last turn and the first
    /// request always stay.
    #[must_use]
    pub fn turns(mut self, head: usize, tail: usize) -> Self {
        self.keep = Keep::Turns { head, tail: tail.max(1) };
        self
    }

    /// Keeps steps with these tools and their requests before others. Protected steps do not exceed
    /// the goal.
    #[must_use]
    pub fn protect(mut self, tools: ToolNames) -> Self {
        self.protected = tools;
        self
    }
}

impl CompactionPolicy for Snip {
    fn name(&self) -> &'static str {
        "snip"
    }

    fn kind(&self) -> PolicyKind {
        PolicyKind::LeaveOut
    }

    fn plan(&self, view: &HistoryView<'_>, goal: &Goal) -> Proposal {
        let mut selection = Selection::new(view);
        match self.keep {
            Keep::Fitting => {
                if goal.excess(view.total()) == 0 {
                    return Proposal::nothing("the target is met");
                }
                selection.keep_newest_step();
                selection.keep_protected(&self.protected, goal.history());
                selection.keep_newest(goal.history());
            }
            Keep::Turns { head, tail } => {
                let turns = view.structure().turns(view.messages().len());
                if turns.len() <= head.saturating_add(tail) {
                    return Proposal::nothing(format!("there are {} turns", turns.len()));
                }
                let ends = turns.iter().take(head).chain(turns.iter().rev().take(tail));
                ends.for_each(|turn| selection.keep_messages(turn.clone()));
                selection.keep_protected(&self.protected, u64::MAX);
            }
        }
        let (mut all, mut edits) = (GapCount::default(), Vec::new());
        for gap in selection.gaps() {
            let gap_count = GapCount::of_runs(view.messages(), &gap);
            all = all.plus(gap_count);
            // Inserted in front of the removed messages: a message that replaces exactly one other
            // would be taken for a shorter form of it.
            let front = gap.first().map_or(0, |run| run.start);
            edits.push(Edit::new(front..front, vec![gap_count.to_message().into()]));
            edits.extend(gap.into_iter().map(Edit::remove));
        }
        match Plan::new(self.name(), BoundaryKind::Snip, view, edits, format!("{all} left out")) {
            Ok(plan) => Proposal::Plan(plan),
            Err(PlanError::Grows { .. }) => {
                Proposal::nothing("only messages that must stay are left")
            }
            Err(error) => Proposal::nothing(error.to_string()),
        }
    }
}
