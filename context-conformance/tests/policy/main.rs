//! Checks that the suite passes a correct policy, and catches those that break one promise each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use context_conformance::policy::assert_policy_conforms;
use context_core::history::{BoundaryKind, Edit, Goal, HistoryView, Plan, Proposal};
use context_core::{CompactionPolicy, Message, Part, Role};

/// The fault of a policy.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Nothing,
    /// Counts its calls, which makes it impure.
    Impure,
    /// Continues after the target is met.
    Endless,
    /// Reports made-up numbers.
    Boasts,
    /// Changes the role of a shortened message.
    ChangesRoles,
    /// Puts a note about removed messages into a user message.
    SpeaksForTheUser,
    /// Gives no reason for proposing nothing.
    Silent,
    /// Reports another name.
    OtherName,
    Panics,
}

/// A policy that shortens every long text to its first sixteen bytes, oldest first, until the goal
/// is met.
#[derive(Debug)]
struct ShorteningPolicy(Fault, AtomicU64);

impl CompactionPolicy for ShorteningPolicy {
    fn name(&self) -> &'static str {
        "shorten"
    }

    fn plan(&self, view: &HistoryView<'_>, goal: &Goal) -> Proposal {
        let asked = self.1.fetch_add(1, Ordering::Relaxed);
        let excess = match self.0 {
            Fault::Endless => u64::MAX,
            _ => goal.excess(view.total()),
        };
        let (mut edits, mut saved) = (Vec::new(), 0);
        for (position, message) in view.messages().iter().enumerate() {
            let short = self.short(message);
            let less = view.tokens(position).saturating_sub(view.count(&short));
            if saved < excess && less > 0 {
                saved += less;
                edits.push(Edit::replace(position, short));
                if self.0 == Fault::Endless {
                    break;
                }
            }
        }
        if self.0 == Fault::SpeaksForTheUser && !edits.is_empty() {
            edits.insert(0, Edit::new(0..0, vec![Arc::new(Message::from("left out"))]));
        }
        let what =
            if self.0 == Fault::Impure { format!("asked {asked} times") } else { "shorter".into() };
        let name = if self.0 == Fault::OtherName { "another" } else { self.name() };
        match Plan::new(name, BoundaryKind::Microcompact, view, edits, what) {
            Ok(mut plan) => {
                plan.after -= u64::from(self.0 == Fault::Boasts);
                Proposal::Plan(plan)
            }
            Err(error) if self.0 == Fault::Panics => panic!("{error}"),
            Err(_) if self.0 == Fault::Silent => Proposal::nothing(""),
            Err(error) => Proposal::nothing(error.to_string()),
        }
    }
}

impl ShorteningPolicy {
    fn short(&self, message: &Message) -> Message {
        let mut short = message.clone();
        let mut changed = false;
        for part in &mut short.parts {
            if let Part::Text(text) = part
                && let Some((head, _)) = context_core::history::shorten::ends(&text.text, 16, 0)
                && !head.trim().is_empty()
            {
                text.text = head.into();
                changed = true;
            }
        }
        if changed && self.0 == Fault::ChangesRoles && short.role == Role::Assistant {
            short.role = Role::System;
        }
        short
    }
}

fn asked(fault: Fault) {
    assert_policy_conforms(&ShorteningPolicy(fault, AtomicU64::new(0)));
}

#[test]
fn a_good_policy_passes() {
    asked(Fault::Nothing);
}

#[test]
#[should_panic(expected = "two proposals for the same view and goal")]
fn an_impure_policy_is_caught() {
    asked(Fault::Impure);
}

#[test]
#[should_panic(expected = "there is another plan")]
fn a_policy_that_goes_on_is_caught() {
    asked(Fault::Endless);
}

#[test]
#[should_panic(expected = "are in truth")]
fn a_policy_that_boasts_is_caught() {
    asked(Fault::Boasts);
}

#[test]
#[should_panic(expected = "is spoken by system")]
fn a_policy_that_changes_roles_is_caught() {
    asked(Fault::ChangesRoles);
}

#[test]
#[should_panic(expected = "put into the user's mouth")]
fn a_policy_that_speaks_for_the_user_is_caught() {
    asked(Fault::SpeaksForTheUser);
}

#[test]
#[should_panic(expected = "no reason given")]
fn a_policy_without_a_reason_is_caught() {
    asked(Fault::Silent);
}

#[test]
#[should_panic(expected = "said to be of another")]
fn a_policy_under_another_name_is_caught() {
    asked(Fault::OtherName);
}

#[test]
#[should_panic(expected = "shorten")]
fn a_policy_that_panics_is_caught() {
    asked(Fault::Panics);
}
