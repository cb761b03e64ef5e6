//! Contract tests for implementations of [`CompactionPolicy`].
//!
//! ```no_run
//! use context_conformance::policy::assert_policy_conforms;
//! use context_core::CompactionPolicy;
//!
//! fn conforms(policy: &dyn CompactionPolicy) {
//!     let report = assert_policy_conforms(policy);
//!     assert!(report.plans > 0, "the policy has made no plan: {report:?}");
//! }
//! ```
//!
//! Cases are random and the same in every run. `PROPTEST_CASES` sets the number of cases (default
//! 64), and `CONTEXT_CONFORMANCE_SEED` the seed. A failure shows the smallest failing case found.
//!
//! # Coverage
//!
//! The suite asks for plans of random conversations after random damage, with long results,
//! checkpoints, gaps and pinned messages in them, and of hostile conversations. The goals are met
//! already, attainable, or unattainable:
//!
//! * The same view and goal give the same proposal, and the messages stay unchanged.
//! * A plan names this policy, describes what it does, counts tokens correctly and saves tokens.
//! * After a plan is applied, each message has its role, and the other messages are unchanged and
//!   in order. The first and the newest request stay, and pinned messages and requests within the
//!   budget of the user's words stay unchanged. There are no more unpaired calls and results
//!   than before. Checkpoints directly follow the system messages, and there is at most one, or as
//!   many as the view had there.
//! * Asked again about the result, the policy proposes nothing once the target is met, and stops
//!   after a few plans if the goal cannot be met.
//! * An unsolicited answer, and one that is empty or too long, is refused.

mod checks;
mod conversations;
mod counter;
mod hostile;

use std::cell::Cell;
use std::sync::Arc;

use context_core::history::{HistoryView, Plan, Proposal, SummaryTask};
use context_core::{Answer, CompactionPolicy, Message, Role};
pub use conversations::{CompactionCase, conversations};
pub use counter::QuarterCounter;
use proptest::prelude::*;

use crate::histories::MessageList;
use crate::property::{self, Counterexample};
use crate::suite_check::SuiteCheck;
use crate::verdict::Stop;

/// The number of plans after which a policy must stop.
const ROUNDS: usize = 8;

/// The outcome of the suite for a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicySuiteReport {
    /// The number of views that the policy was asked about.
    pub views: usize,
    /// The number of views for which the policy had a plan. Zero proves only that the policy does
    /// no harm: it may look for tools that are not among [`TOOLS`](crate::histories::TOOLS).
    pub plans: usize,
}

/// Runs the suite on a policy and panics with the smallest case that breaks the contract. Requests
/// for summaries are answered with a short text.
pub fn assert_policy_conforms(policy: &dyn CompactionPolicy) -> PolicySuiteReport {
    assert_policy_conforms_with(policy, |_| Answer::new(Message::text(Role::Assistant, "Short.")))
}

/// Runs the suite on a policy that asks a model. `answer` returns the answer of a good model to a
/// summary request. The policy should accept the answer unless it is no shorter than the messages
/// it replaces.
///
/// Panics with the smallest case that breaks the contract.
pub fn assert_policy_conforms_with(
    policy: &dyn CompactionPolicy,
    answer: impl Fn(&SummaryTask) -> Answer,
) -> PolicySuiteReport {
    let kit = Kit { policy, answer: &answer, report: Cell::default() };
    let name = policy.name();
    let mut suite = SuiteCheck::new("policy", name);
    suite.case("random_conversations", || {
        let asked =
            property::ask(&conversations(), |case| kit.ask(case).map_err(TestCaseError::fail));
        asked.map_err(|Counterexample { why, case, reproduction }| {
            let case = case.map(|case| format!("{case:#?}\n")).unwrap_or_default();
            Stop::Fail(format!(
                "the policy {name} does not keep its contract: {why}\n{case}{reproduction}"
            ))
        })
    });
    for (label, history) in hostile::HISTORIES {
        suite.case(label, || {
            hostile::cases(history()).try_for_each(|(goal, case)| {
                // The case is large, so the message does not show it.
                kit.ask(&case).map_err(|why| {
                    Stop::Fail(format!(
                        "the policy {name} does not keep its contract, asked to compact {label} to {goal} tokens: {why}"
                    ))
                })
            })
        });
    }
    suite.finish();
    kit.report.get()
}

struct Kit<'a> {
    policy: &'a dyn CompactionPolicy,
    answer: &'a dyn Fn(&SummaryTask) -> Answer,
    report: Cell<PolicySuiteReport>,
}

impl Kit<'_> {
    fn ask(&self, case: &CompactionCase) -> Result<(), String> {
        let mut messages = case.messages.clone();
        for round in 0..ROUNDS {
            let step = self.step(&messages, case)?;
            let PolicySuiteReport { views, plans } = self.report.get();
            self.report.set(PolicySuiteReport {
                views: views + 1,
                plans: plans + usize::from(step.is_some()),
            });
            let Some((plan, after)) = step else { return Ok(()) };
            messages = after;
            let met = plan.after <= case.goal.history();
            let again = self.policy.plan(&case.view(&messages), &case.goal);
            if let (true, Proposal::Plan(again)) = (met, again) {
                return Err(format!(
                    "the goal was met in round {round}, and there is another plan: {again:#?}"
                ));
            }
        }
        Err(format!("there is still a plan after {ROUNDS} of them"))
    }

    /// Returns the plan, if there is one, and the messages after it is applied.
    fn step(
        &self,
        messages: &[Arc<Message>],
        case: &CompactionCase,
    ) -> Result<Option<(Plan, MessageList)>, String> {
        let copy: Vec<Message> = messages.iter().map(|message| Message::clone(message)).collect();
        let view = case.view(messages);
        let proposal = self.policy.plan(&view, &case.goal);
        let again = self.policy.plan(&case.view(messages), &case.goal);
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
        for (label, bad) in [("empty", says(" ")), ("silent", silent), ("too long", says(&more))] {
            if self.policy.accept(view, task, &bad).is_ok() {
                return Err(format!("an answer that is {label} was taken for a summary"));
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
