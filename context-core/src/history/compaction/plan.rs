//! Compaction plans and their application.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::{
    Anchors, Boundary, BoundaryKind, CacheState, HistoryRewrite, HistoryView, Price, Structure,
    pairs,
};
use crate::{Message, Part, Role};

/// A planned cut of a conversation, as data. A plan can be shown, priced and stored; only
/// [`apply`](Self::apply) carries it out.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{Message, Role};
/// use context_core::history::{BoundaryKind, Edit, HistoryView, Plan, PlanError};
/// use context_core::model::{TokenCount, TokenCounter};
///
/// # #[derive(Debug)]
/// # struct Bytes;
/// # impl TokenCounter for Bytes {
/// #     fn name(&self) -> &str { "bytes" }
/// #     fn count(&self, text: &str) -> TokenCount { TokenCount::exact(text.len() as u64) }
/// # }
/// let talk = ["A train?", "Let me think …", "At ten."];
/// let roles = [Role::User, Role::Assistant, Role::User];
/// let history: Vec<_> =
///     roles.into_iter().zip(talk).map(|(role, text)| Arc::new(Message::text(role, text))).collect();
/// let view = HistoryView::new(&history, &Bytes); // counts bytes, here
///
/// let plan = Plan::new("by hand", BoundaryKind::Snip, &view, vec![Edit::remove(1..2)], "1 message")?;
/// assert_eq!((plan.before, plan.after), (31, 15));
/// assert_eq!(plan.apply(&history)?.origins, [Some(0), Some(2)]);
///
/// let greedy = Plan::new("by hand", BoundaryKind::Snip, &view, vec![Edit::remove(0..3)], "everything");
/// assert!(greedy.is_err()); // the first and the newest request stay
/// # Ok::<(), PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The name of the policy.
    pub policy: &'static str,
    /// The kind of cut.
    pub kind: BoundaryKind,
    /// The replacements, in order and without overlap.
    pub edits: Vec<Edit>,
    /// Tokens of the history before the plan.
    pub before: u64,
    /// Tokens of the history after the plan.
    pub after: u64,
    /// A human-readable summary of the plan, such as `9 results`.
    pub description: String,
}

/// A replacement of messages.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Edit {
    /// The range of replaced messages in the view.
    pub range: Range<usize>,
    /// The messages that replace them; none, if those are only removed. One message for one is
    /// taken for the same message, shortened, unless it is a [gap](Message::is_gap) or a checkpoint
    /// and the other is neither.
    pub with: Vec<Arc<Message>>,
}

impl Edit {
    /// Replaces messages by others.
    pub fn new(range: Range<usize>, with: Vec<Arc<Message>>) -> Self {
        Self { range, with }
    }

    /// Replaces one message by a shorter form of it.
    pub fn replace(position: usize, with: impl Into<Arc<Message>>) -> Self {
        Self::new(position..position + 1, vec![with.into()])
    }

    /// Removes messages.
    pub fn remove(range: Range<usize>) -> Self {
        Self::new(range, Vec::new())
    }

    /// Returns whether the edit shortens one message. A gap or a checkpoint is not a form of
    /// another message.
    fn shortens(&self, messages: &[Arc<Message>]) -> bool {
        let is_note = |message: &Message| message.is_checkpoint() || message.is_gap();
        match (&messages[self.range.clone()], self.with.as_slice()) {
            ([before], [after]) => !is_note(after) || is_note(before),
            _ => false,
        }
    }
}

/// An error of a plan that cannot be applied. Nothing was changed.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The ranges are out of order, overlap, or exceed the history: the plan was made for another
    /// history.
    #[error("the plan does not fit this history: edit {edit} is out of place")]
    Misfit {
        /// The index of the edit.
        edit: usize,
    },
    /// The plan would separate a call from its result.
    #[error("the plan would leave {orphans} more calls or results without their other half")]
    BreaksPairs {
        /// Number of additional calls or results without a counterpart.
        orphans: usize,
    },
    /// The plan would remove a request of the user that has to stay: the first, the newest, or one
    /// within the budget of the user's words.
    #[error("the plan would drop the user's request at message {message}")]
    DropsRequest {
        /// The position of the request.
        message: usize,
    },
    /// The plan would remove or change a message that has to stay as it is: a pinned one, or a
    /// request within the budget of the user's words.
    #[error("the plan would change message {message}, which must stay as it is")]
    ChangesAnchor {
        /// The position of the message.
        message: usize,
    },
    /// The plan would remove the checkpoint without a replacement, or leave too many checkpoints or
    /// a misplaced one.
    #[error("the plan would leave {checkpoints} checkpoints in front")]
    Checkpoints {
        /// Number of checkpoints.
        checkpoints: usize,
    },
    /// The plan would remove all messages.
    #[error("the plan would leave nothing")]
    LeavesNothing,
    /// The plan would make the history larger.
    #[error("the plan would change {before} tokens to {after}")]
    Grows {
        /// Tokens before.
        before: u64,
        /// Tokens after.
        after: u64,
    },
}

crate::readable_debug!(PlanError);

impl Plan {
    /// Creates a plan for a view. Fails if the plan would not save a token or must not be applied.
    /// `what` describes the plan for people.
    pub fn new(
        policy: &'static str,
        kind: BoundaryKind,
        view: &HistoryView<'_>,
        edits: Vec<Edit>,
        description: impl Into<String>,
    ) -> Result<Self, PlanError> {
        let plan = Self::of_any_size(policy, kind, view, edits, description)?;
        match plan.after < plan.before {
            true => Ok(plan),
            false => Err(PlanError::Grows { before: plan.before, after: plan.after }),
        }
    }

    /// Creates a plan that need not save tokens, for example one that removes media that a provider
    /// refuses. The history may even grow.
    pub fn of_any_size(
        policy: &'static str,
        kind: BoundaryKind,
        view: &HistoryView<'_>,
        edits: Vec<Edit>,
        description: impl Into<String>,
    ) -> Result<Self, PlanError> {
        let before = view.total();
        let (mut removed, mut added) = (0_u64, 0_u64);
        for edit in &edits {
            removed = removed.saturating_add(view.tokens_of(edit.range.clone()));
            for message in &edit.with {
                added = added.saturating_add(view.count_shared(message));
            }
        }
        let after = before.saturating_sub(removed).saturating_add(added);
        let plan = Self { policy, kind, edits, before, after, description: description.into() };
        plan.rewrite(view.messages(), view.structure(), view.anchors())?;
        Ok(plan)
    }

    /// Returns the number of saved tokens.
    pub fn saved(&self) -> u64 {
        self.before.saturating_sub(self.after)
    }

    /// Returns the position of the first change.
    pub fn first_change(&self) -> Option<usize> {
        self.edits.first().map(|edit| edit.range.start)
    }

    /// Returns the price of the plan, given the provider's cache: all cached messages after the
    /// first change are reread.
    pub fn price(&self, view: &HistoryView<'_>, cache: &CacheState) -> Price {
        let Some(first) = self.first_change() else { return Price::default() };
        let end = cache.messages.min(view.messages().len());
        let cached = view.tokens_of(first.min(end)..end);
        let removed = self.edits.iter().map(|edit| {
            let (start, end) = (edit.range.start.min(end), edit.range.end.min(end));
            view.tokens_of(start..end)
        });
        let removed = removed.sum::<u64>();
        Price::new(self.saved(), removed, cached.saturating_sub(removed), cache)
    }

    /// Applies the plan. Refuses a plan that would make the history invalid or lose required
    /// messages; see [`PlanError`]. The budget of the user's words is a property of a view, so it
    /// is checked when the plan is created.
    pub fn apply(&self, messages: &[Arc<Message>]) -> Result<HistoryRewrite, PlanError> {
        let structure = Structure::of(messages);
        self.rewrite(messages, &structure, &Anchors::new(messages, &structure))
    }

    fn rewrite(
        &self,
        messages: &[Arc<Message>],
        structure: &Structure,
        anchors: &Anchors,
    ) -> Result<HistoryRewrite, PlanError> {
        let mut out = HistoryRewrite::default();
        let mut at = 0;
        for (edit, Edit { range, with }) in self.edits.iter().enumerate() {
            if range.start < at || range.end < range.start || range.end > messages.len() {
                return Err(PlanError::Misfit { edit });
            }
            out.keep(messages, at..range.start);
            let origin = self.edits[edit].shortens(messages).then_some(range.start);
            out.messages.extend(with.iter().map(Arc::clone));
            out.origins.extend(with.iter().map(|_| origin));
            at = range.end;
        }
        out.keep(messages, at..messages.len());
        out.covered = messages.len();
        self.check(messages, structure, anchors, &out)?;
        out.boundaries.push(Boundary::of(self, out.messages.len()));
        Ok(out)
    }

    /// Returns whether a message that has to stay unchanged did. Thoughts may go, because providers
    /// require that of finished turns, and media may go if a provider refuses them.
    fn leaves_as_is(&self, before: &Arc<Message>, after: &Arc<Message>) -> bool {
        Arc::ptr_eq(before, after)
            || self.kind == BoundaryKind::Strip
            || (before.role == after.role
                && before.metadata == after.metadata
                && without_thoughts(before).eq(without_thoughts(after)))
    }

    fn check(
        &self,
        messages: &[Arc<Message>],
        structure: &Structure,
        anchors: &Anchors,
        out: &HistoryRewrite,
    ) -> Result<(), PlanError> {
        if out.messages.is_empty() && !messages.is_empty() {
            return Err(PlanError::LeavesNothing);
        }
        let retained: HashMap<usize, &Arc<Message>> = out
            .origins
            .iter()
            .zip(&out.messages)
            .filter_map(|(origin, message)| Some(((*origin)?, message)))
            .collect();
        for at in anchors.positions() {
            let before = &messages[at];
            match retained.get(&at) {
                None if before.is_request() => return Err(PlanError::DropsRequest { message: at }),
                None => return Err(PlanError::ChangesAnchor { message: at }),
                Some(after) if anchors.is_verbatim(at) && !self.leaves_as_is(before, after) => {
                    return Err(PlanError::ChangesAnchor { message: at });
                }
                Some(_) => {}
            }
        }
        let count = |messages: &[Arc<Message>]| {
            messages.iter().filter(|message| message.is_checkpoint()).count()
        };
        let (before, checkpoints) = (count(messages), count(&out.messages));
        // Misplaced checkpoints that existed before are not the plan's fault.
        let misplaced = checkpoints.saturating_sub(Structure::of(&out.messages).checkpoints);
        let lost = before > 0 && checkpoints == 0;
        if lost
            || checkpoints > before.max(1)
            || misplaced > before.saturating_sub(structure.checkpoints)
        {
            return Err(PlanError::Checkpoints { checkpoints });
        }
        let orphans = orphans(&out.messages).saturating_sub(orphans(messages));
        if orphans > 0 {
            return Err(PlanError::BreaksPairs { orphans });
        }
        Ok(())
    }
}

fn without_thoughts(message: &Message) -> impl Iterator<Item = &Part> {
    message.parts.iter().filter(|part| !matches!(part, Part::Reasoning(_)))
}

/// Returns the number of calls without a later result plus the number of results without an earlier
/// call.
fn orphans(messages: &[Arc<Message>]) -> usize {
    let parts = messages
        .iter()
        .flat_map(|message| message.parts.iter().map(move |part| (message.role, part)));
    let calls_and_results = parts.filter(|(role, part)| match part {
        Part::ToolCall(_) => *role == Role::Assistant,
        Part::ToolResult(_) => true,
        _ => false,
    });
    calls_and_results.count() - 2 * pairs(messages).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Origin;
    use crate::model::{TokenCount, TokenCounter};

    /// Counts one token per byte of text.
    #[derive(Debug)]
    struct Bytes;

    impl TokenCounter for Bytes {
        fn name(&self) -> &str {
            "bytes"
        }

        fn count(&self, text: &str) -> TokenCount {
            TokenCount::exact(text.len() as u64)
        }
    }

    fn history() -> Vec<Arc<Message>> {
        [
            Message::from("book a trip"),
            Message::new(Role::Assistant, [Part::tool_call("a", "search", serde_json::json!({}))]),
            Message::new(Role::Tool, [Part::tool_result("a", "x".repeat(100))]),
            Message::text(Role::Assistant, "found some"),
            Message::from("the second"),
        ]
        .map(Arc::new)
        .to_vec()
    }

    fn plan(edits: Vec<Edit>) -> Result<Plan, PlanError> {
        let messages = history();
        Plan::new("test", BoundaryKind::Snip, &HistoryView::new(&messages, &Bytes), edits, "some")
    }

    #[test]
    fn what_must_stay_stays() {
        assert_eq!(plan(vec![Edit::remove(2..3)]), Err(PlanError::BreaksPairs { orphans: 1 }));
        assert_eq!(plan(vec![Edit::remove(1..2)]), Err(PlanError::BreaksPairs { orphans: 1 }));
        assert_eq!(plan(vec![Edit::remove(0..1)]), Err(PlanError::DropsRequest { message: 0 }));
        assert_eq!(plan(vec![Edit::remove(3..5)]), Err(PlanError::DropsRequest { message: 4 }));
        assert_eq!(plan(vec![Edit::remove(3..9)]), Err(PlanError::Misfit { edit: 0 }));
        assert_eq!(
            plan(vec![Edit::remove(3..4), Edit::remove(1..3)]),
            Err(PlanError::Misfit { edit: 1 })
        );
        let longer = Edit::replace(3, Message::text(Role::Assistant, "found some more"));
        assert!(matches!(plan(vec![longer]), Err(PlanError::Grows { .. })));
        let checkpoint = || Arc::new(Message::from("so far").with_origin(Origin::Checkpoint));
        let late = Edit::new(1..4, vec![checkpoint()]);
        assert_eq!(plan(vec![late]), Err(PlanError::Checkpoints { checkpoints: 1 }));
    }

    #[test]
    fn a_plan_says_what_it_saves_and_where_each_message_came_from() {
        let short = Message::new(Role::Tool, [Part::tool_result("a", "x")]);
        let plan = plan(vec![Edit::replace(2, short), Edit::remove(3..4)]).unwrap();
        assert_eq!(plan.saved(), 99 + 10);
        let messages = history();
        let first = HistoryRewrite::identity(&messages).apply(&plan).unwrap();
        assert_eq!(first.origins, [Some(0), Some(1), Some(2), Some(4)]);
        let again = Plan { edits: vec![Edit::remove(1..3)], ..plan };
        assert_eq!(first.apply(&again).unwrap().origins, [Some(0), Some(4)]);
    }

    #[test]
    fn a_gap_is_no_shortened_form_of_what_it_stands_for() {
        let gap = || Message::from("").with_origin(Origin::Gap);
        let messages = history();
        let origins = |with: Message| {
            plan(vec![Edit::replace(3, with)]).unwrap().apply(&messages).unwrap().origins[3]
        };
        assert_eq!(origins(Message::text(Role::Assistant, "")), Some(3));
        assert_eq!(origins(gap()), None);
    }

    #[test]
    fn the_price_is_what_stands_behind_the_first_change_and_stays() {
        let plan = plan(vec![Edit::remove(1..3)]).unwrap();
        let messages = history();
        let view = HistoryView::new(&messages, &Bytes);
        let warm = CacheState { messages: 4, ..CacheState::default() };
        assert_eq!(plan.price(&view, &warm).reread, 10);
        assert_eq!(plan.price(&view, &CacheState::default()).reread, 0);
    }
}
