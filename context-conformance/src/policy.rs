//! Proves that a policy keeps the contract of [`CompactionPolicy`].
//!
//! ```no_run
//! use context_conformance::policy::assert_policy_conforms;
//! use context_core::CompactionPolicy;
//!
//! fn conforms(policy: &dyn CompactionPolicy) {
//!     let asked = assert_policy_conforms(policy);
//!     assert!(asked.plans > 0, "the conversations of the kit gave it something to do: {asked:?}");
//! }
//! ```
//!
//! Cases are random and the same in every run; `PROPTEST_CASES` says how many there are, 64 if it
//! says nothing, and `CONTEXT_CONFORMANCE_SEED` where they begin. A failure shows the smallest case
//! found.
//!
//! # What is asked
//!
//! Of random conversations after random damage, with long results, checkpoints and gaps in them,
//! and of hostile ones, for goals that are met, can be met and cannot:
//!
//! * The same view and goal give the same proposal, and the messages stay as they are.
//! * A plan is of this policy, says what it does, counts right and saves.
//! * Applied, it leaves each message its role, the others as they were and in order; the first and
//!   the newest request; no more halves of pairs than there were; one checkpoint, in front.
//! * Asked again about what it left, the policy proposes nothing once the goal is met, and comes to
//!   an end where it cannot be.
//! * An answer that nobody asked for, and one that says nothing or too much, is refused.

mod checks;
mod conversations;
mod counter;
mod hostile;

use std::cell::Cell;
use std::sync::Arc;

use context_core::history::{HistoryView, Plan, Proposal, SummaryTask};
use context_core::{Answer, CompactionPolicy, Message, Role};
pub use conversations::{Asked, conversations};
pub use counter::QuarterCounter;
use proptest::prelude::*;

use crate::histories::History;
use crate::property::{self, Broken};
use crate::reported::Question;

/// After how many plans a policy must have come to an end.
const ROUNDS: usize = 8;

/// What a policy was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyAsked {
    /// How many views it looked at.
    pub views: usize,
    /// For how many of them it had a plan. If there is none, nothing was proven but that the policy
    /// does no harm: it may look for tools that are not among [`TOOLS`](crate::histories::TOOLS).
    pub plans: usize,
}

/// Panics with the smallest case that breaks the contract. Requests of summaries are answered with
/// a short text.
pub fn assert_policy_conforms(policy: &dyn CompactionPolicy) -> PolicyAsked {
    assert_policy_conforms_with(policy, |_| Answer::new(Message::text(Role::Assistant, "Short.")))
}

/// The same, for a policy that asks a model: `answer` is what a good model says to its requests,
/// and is taken for a summary, unless it is no shorter than what it stands for.
pub fn assert_policy_conforms_with(
    policy: &dyn CompactionPolicy,
    answer: impl Fn(&SummaryTask) -> Answer,
) -> PolicyAsked {
    let kit = Kit { policy, answer: &answer, asked: Cell::default() };
    let name = policy.name();
    let _asked = Question::new("policy", name, "keeps the contract");
    if let Err(broken) =
        property::ask(&conversations(), |asked| kit.ask(asked).map_err(TestCaseError::fail))
    {
        let Broken { why, case, again } = broken;
        let case = case.map(|asked| format!("{asked:#?}\n")).unwrap_or_default();
        panic!("the policy {name} does not keep its contract: {why}\n{case}{again}");
    }
    for (what, asked) in hostile::all() {
        if let Err(why) = kit.ask(&asked) {
            // Not shown: it is large.
            panic!("the policy {name} does not keep its contract, asked about {what}: {why}");
        }
    }
    kit.asked.get()
}

struct Kit<'a> {
    policy: &'a dyn CompactionPolicy,
    answer: &'a dyn Fn(&SummaryTask) -> Answer,
    asked: Cell<PolicyAsked>,
}

impl Kit<'_> {
    fn ask(&self, asked: &Asked) -> Result<(), String> {
        let mut messages = asked.messages.clone();
        for round in 0..ROUNDS {
            let step = self.step(&messages, asked)?;
            let PolicyAsked { views, plans } = self.asked.get();
            self.asked
                .set(PolicyAsked { views: views + 1, plans: plans + usize::from(step.is_some()) });
            let Some((plan, after)) = step else { return Ok(()) };
            messages = after;
            let met = plan.after <= asked.goal.history();
            let again =
                self.policy.plan(&HistoryView::new(&messages, &QuarterCounter), &asked.goal);
            if let (true, Proposal::Plan(again)) = (met, again) {
                return Err(format!(
                    "the goal was met in round {round}, and there is another plan: {again:#?}"
                ));
            }
        }
        Err(format!("there is still a plan after {ROUNDS} of them"))
    }

    /// The plan, if there is one, and what it leaves.
    fn step(
        &self,
        messages: &[Arc<Message>],
        asked: &Asked,
    ) -> Result<Option<(Plan, History)>, String> {
        let copy: Vec<Message> = messages.iter().map(|message| Message::clone(message)).collect();
        let view = HistoryView::new(messages, &QuarterCounter);
        let proposal = self.policy.plan(&view, &asked.goal);
        let again = self.policy.plan(&HistoryView::new(messages, &QuarterCounter), &asked.goal);
        if proposal != again {
            return Err("two proposals for the same view and goal".to_owned());
        }
        if copy.iter().ne(messages.iter().map(|message| &**message)) {
            return Err("the messages were changed".to_owned());
        }
        let plan = match proposal {
            Proposal::Nothing { reason } if reason.trim().is_empty() => {
                return Err("nothing is proposed, and no reason given".to_owned());
            }
            Proposal::Nothing { .. } => return Ok(None),
            Proposal::Plan(plan) => plan,
            Proposal::Summary(task) => match self.summary(&view, &task)? {
                Some(plan) => plan,
                None => return Ok(None),
            },
            _ => return Err("a proposal that this kit does not know".to_owned()),
        };
        if plan.policy != self.policy.name() {
            return Err(format!("the plan is said to be of {}", plan.policy));
        }
        let after = checks::applied(&view, &plan)?;
        Ok(Some((plan, after)))
    }

    fn summary(&self, view: &HistoryView<'_>, task: &SummaryTask) -> Result<Option<Plan>, String> {
        let covers = task.covers.clone();
        if covers.is_empty() || covers.end > view.messages().len() {
            return Err(format!("a summary of {covers:?} of {} messages", view.messages().len()));
        }
        let kept = task.keeps.iter().filter(|at| covers.contains(at)).map(|at| view.tokens(*at));
        let tokens = view.tokens_of(covers.clone()).saturating_sub(kept.sum());
        if task.tokens != tokens {
            return Err(format!("a summary of {tokens} tokens, said to be {}", task.tokens));
        }
        if task.policy != self.policy.name() || task.request.messages.is_empty() {
            return Err("the request is empty, or of another policy".to_owned());
        }
        let says = |text: &str| Answer::new(Message::text(Role::Assistant, text));
        let room =
            usize::try_from(task.tokens).unwrap_or(usize::MAX).saturating_mul(8).min(16 << 20);
        let more = "more than there was ".repeat(room / 16 + 1);
        let silent = Answer::new(Message::new(Role::Assistant, []));
        for (what, bad) in [("empty", says(" ")), ("silent", silent), ("too long", says(&more))] {
            if self.policy.accept(view, task, &bad).is_ok() {
                return Err(format!("an answer that is {what} was taken for a summary"));
            }
        }
        let answer = (self.answer)(task);
        let plan = self.policy.accept(view, task, &answer);
        if plan != self.policy.accept(view, task, &answer) {
            return Err("two plans of the same answer".to_owned());
        }
        Ok(plan.ok())
    }
}
