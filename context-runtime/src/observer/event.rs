//! The events of turns.

use std::time::Duration;

use context_core::base::BlobId;
use context_core::history::{PlanReport, RecoveryDecision};
use context_core::model::{ModelErrorCode, Usage};

use crate::report::TurnReport;

/// An event of a turn. What begins also ends: a call, a tool or a turn that is cancelled or dropped
/// ends too. No event holds content.
///
/// The numbers are those of the turn's [report](TurnReport): its usage and cost are the sums over
/// [`CallEnded`](Self::CallEnded), its plans are the [`Cut`](Self::Cut)s, its attempts are the
/// [`Recovery`](Self::Recovery) decisions other than to give up.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum TurnEvent<'e> {
    /// A turn began: its question is stored.
    TurnBegan,
    /// A turn ended.
    TurnEnded {
        /// The report of the turn. The outcome is [`Open`](crate::TurnOutcome::Open) if the turn
        /// was dropped before its end, or [suspended](crate::Turn::suspend): then the report is
        /// that of one part of the turn, and resuming it begins another.
        report: &'e TurnReport,
    },
    /// A request to a model was handed out.
    CallBegan {
        /// The provider whose wire form the request has.
        provider: &'e str,
        /// The model that is asked.
        model: &'e str,
        /// Whether a summary is requested.
        is_summary: bool,
    },
    /// The reply to a request arrived, or nobody waits for it any more.
    CallEnded {
        /// The provider whose wire form the request has.
        provider: &'e str,
        /// The model that was asked.
        model: &'e str,
        /// Whether a summary was requested.
        is_summary: bool,
        /// The outcome of the call.
        outcome: CallOutcome,
        /// The usage that the provider reported, also with an error.
        usage: Option<Usage>,
        /// The cost of the usage in US dollars. `None` if the price is not known.
        cost_usd: Option<f64>,
        /// The time from the request to the reply.
        elapsed: Duration,
    },
    /// A tool began that a turn runs. A loop of your own runs its tools itself.
    ToolBegan {
        /// The tool.
        name: &'e str,
        /// The id of the call.
        call: &'e str,
    },
    /// A tool ended.
    ToolEnded {
        /// The tool.
        name: &'e str,
        /// The id of the call.
        call: &'e str,
        /// Whether the result is an error, or there is none because the tool panicked or was
        /// cancelled.
        failed: bool,
        /// The time that it took.
        elapsed: Duration,
    },
    /// The runtime decided about a refused request, or an answer that broke off. A busy provider is
    /// waited for without a decision.
    Recovery {
        /// The provider's error.
        error: ModelErrorCode,
        /// The decision.
        decision: &'e RecoveryDecision,
    },
    /// A plan was applied to the history. Accepted summaries and cuts after a refusal are reported
    /// by [`ModelCall`](crate::ModelCall), those of stages by the runtime.
    Cut {
        /// The plan.
        plan: &'e PlanReport,
    },
    /// An output that is too large was stored as a blob.
    Spilled {
        /// The blob.
        blob: &'e BlobId,
        /// Its size.
        bytes: u64,
        /// The reason, as in `Spilled::reason`.
        reason: &'e str,
    },
    /// The memory was asked.
    Recalled {
        /// The tokens of what it recalled, rendered. 0 if nothing was recalled.
        tokens: u64,
        /// The time that it took.
        elapsed: Duration,
    },
    /// The turn was handed to the memory.
    Captured {
        /// Whether the memory could not store it.
        failed: bool,
        /// The time that it took.
        elapsed: Duration,
    },
}

/// The outcome of a call of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallOutcome {
    /// The model replied.
    Answered,
    /// The provider refused, or the answer broke off.
    Failed(ModelErrorCode),
    /// Nobody waited for the reply: the call was cancelled, or the request was lost.
    Abandoned,
}
