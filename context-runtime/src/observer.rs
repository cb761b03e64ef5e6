//! Observers: what a program learns of its turns as they happen, and its say in compactions.

#[cfg(feature = "tokens")]
mod begun;
mod event;
#[cfg(feature = "metrics")]
mod metrics;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use context_core::Diagnostic;
use context_core::base::{DiagnosticCode, Severity};
use context_core::history::{HistoryRewrite, HistoryView, Plan, PlanError};
use context_core::runtime::TurnRef;

#[cfg(feature = "tokens")]
pub(crate) use begun::BegunCall;
#[cfg(feature = "agents")]
pub(crate) use begun::BegunTool;
pub use event::{CallOutcome, TurnEvent};
#[cfg(feature = "metrics")]
pub use metrics::OtelMetrics;

/// Observes turns: what happens in them, as typed events, and each compaction before it is carried
/// out. Register it with `observer` of the builder of agents, of a runtime, or of a
/// [`ModelCall`](crate::ModelCall). Several may be registered; they are told in that order.
///
/// Contract with implementors: methods are called in the middle of a turn, some of them under a
/// lock of the chat's session. They must not block, and not call the runtime. A panic is logged,
/// and the turn goes on.
///
/// ```
/// use context_runtime::{CompactionDecision, Observer, ProposedCompaction, TurnEvent, TurnRef};
///
/// /// Prints what calls cost, and keeps short histories whole.
/// struct Accountant;
///
/// impl Observer for Accountant {
///     fn on_event(&self, turn: &TurnRef, event: &TurnEvent<'_>) {
///         if let TurnEvent::CallEnded { model, cost_usd: Some(cost), .. } = event {
///             println!("{}: {model} {cost:.4} USD", turn.chat.chat);
///         }
///     }
///
///     fn before_compaction(
///         &self,
///         _: &TurnRef,
///         cut: &ProposedCompaction<'_>,
///     ) -> CompactionDecision {
///         match cut.view.total() {
///             ..5_000 => CompactionDecision::Veto("there is little to cut".to_owned()),
///             _ => CompactionDecision::Proceed,
///         }
///     }
/// }
/// ```
pub trait Observer: Send + Sync + 'static {
    /// Is told of an event. Events name the chat and hold no content.
    fn on_event(&self, turn: &TurnRef, event: &TurnEvent<'_>) {
        let _ = (turn, event);
    }

    /// Decides about a compaction before it is carried out: one that a stage plans, a summary
    /// before a model is asked for it, or a cut after a refusal. Of several observers, the first
    /// one that does not let it pass decides. [`TurnEvent::Cut`] reports what was carried out.
    fn before_compaction(
        &self,
        turn: &TurnRef,
        compaction: &ProposedCompaction<'_>,
    ) -> CompactionDecision {
        let _ = (turn, compaction);
        CompactionDecision::Proceed
    }
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn on_event(&self, turn: &TurnRef, event: &TurnEvent<'_>) {
        (**self).on_event(turn, event);
    }

    fn before_compaction(
        &self,
        turn: &TurnRef,
        compaction: &ProposedCompaction<'_>,
    ) -> CompactionDecision {
        (**self).before_compaction(turn, compaction)
    }
}

/// A compaction that is about to be carried out.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ProposedCompaction<'p> {
    /// The name of the policy, or `recovery` for a cut after a refusal.
    pub policy: &'static str,
    /// A human-readable reason.
    pub reason: &'p str,
    /// The history that the plan is made for.
    pub view: &'p HistoryView<'p>,
    /// The plan. `None` for a summary, which is still to be requested from a model.
    pub plan: Option<&'p Plan>,
}

/// The decision of an [`Observer`] about a compaction.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
#[non_exhaustive]
pub enum CompactionDecision {
    /// The compaction is carried out.
    #[default]
    Proceed,
    /// This plan is carried out instead. It is checked and counted as every plan, and must save
    /// tokens; if it may not be applied, nothing is cut.
    Replace(Plan),
    /// Nothing is cut, for this reason. The next stage is asked, and after a refusal the next
    /// decision of the recovery is tried. The provider refuses a request that stays too large.
    Veto(String),
}

/// The reason why a proposed compaction was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotCarriedOut {
    #[error("vetoed: {0}")]
    Vetoed(String),
    #[error(transparent)]
    Invalid(#[from] PlanError),
}

impl NotCarriedOut {
    pub(crate) fn diagnostic(&self, policy: &str) -> Diagnostic {
        let severity = match self {
            Self::Vetoed(_) => Severity::Info,
            Self::Invalid(_) => Severity::Warning,
        };
        let code = DiagnosticCode::CompactionPlanRefused;
        Diagnostic::new(code, severity, "messages", format!("{policy}: {self}"))
    }
}

impl CompactionDecision {
    /// Returns the plan that the decision makes of a proposed one, and the history after it.
    pub(crate) fn carry_out(
        self,
        plan: Plan,
        view: &HistoryView<'_>,
    ) -> (Plan, Result<HistoryRewrite, NotCarriedOut>) {
        let plan = match self {
            Self::Proceed => plan,
            Self::Veto(reason) => return (plan, Err(NotCarriedOut::Vetoed(reason))),
            // Counted anew: the numbers of a plan are public.
            Self::Replace(Plan { policy, kind, edits, description, .. }) => {
                match Plan::new(policy, kind, view, edits, description) {
                    Ok(other) => other,
                    Err(error) => return (plan, Err(error.into())),
                }
            }
        };
        let applied = plan.apply(view.messages()).map_err(NotCarriedOut::from);
        (plan, applied)
    }
}

/// Several observers as one. A panic of one of them reaches nobody.
#[cfg_attr(not(feature = "tokens"), allow(dead_code, reason = "nothing is observed"))]
#[derive(Clone, Default)]
pub(crate) struct Observers(Vec<Arc<dyn Observer>>);

#[cfg_attr(not(feature = "tokens"), allow(dead_code, reason = "nothing is observed"))]
impl Observers {
    pub(crate) fn add(&mut self, observer: impl Observer) {
        self.0.push(Arc::new(observer));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Observer for Observers {
    fn on_event(&self, turn: &TurnRef, event: &TurnEvent<'_>) {
        for observer in &self.0 {
            guarded(|| observer.on_event(turn, event));
        }
    }

    fn before_compaction(
        &self,
        turn: &TurnRef,
        compaction: &ProposedCompaction<'_>,
    ) -> CompactionDecision {
        let ask = |observer: &Arc<dyn Observer>| {
            guarded(|| observer.before_compaction(turn, compaction)).unwrap_or_default()
        };
        let mut decisions = self.0.iter().map(ask);
        decisions.find(|decision| *decision != CompactionDecision::Proceed).unwrap_or_default()
    }
}

fn guarded<T>(told: impl FnOnce() -> T) -> Option<T> {
    let told = catch_unwind(AssertUnwindSafe(told));
    if told.is_err() {
        tracing::warn!("an observer panicked; the turn goes on");
    }
    told.ok()
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observers").field(&self.0.len()).finish()
    }
}
