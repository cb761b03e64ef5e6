//! A compaction policy with its trigger.

use std::fmt;
use std::sync::Arc;

use context_core::CompactionPolicy;
use context_core::history::PolicyKind;

use super::trigger::{HistoryState, Trigger, is_share};

/// The default trigger of a stage, as a share of the window.
const TRIGGER: f64 = 0.9;
/// The default target, as a share of the window.
const TARGET: f64 = 0.6;
/// The default target of a large window, as a share of it. See `docs/quality.md` for the costs.
const LARGE_TARGET: f64 = 0.3;
/// The number of tokens that a default target leaves at least in a large window.
const LARGE_TARGET_TOKENS: u64 = 9_600;
/// The distance before its trigger at which a stage that summarizes may request a summary, as a
/// share of the window.
const AHEAD: f64 = 0.1;

/// A compaction policy with its [trigger](Trigger) and its target, a share of the window.
///
/// The default trigger depends on the policy's [kind](CompactionPolicy::kind). A policy that
/// shortens has 0.80. One that leaves turns out has 0.90, or, after a stage that summarizes, runs
/// only as a last resort. One that truncates always runs only as a last resort. Any other policy
/// has 0.90. The default target is 0.60, and in larger windows less, except of a policy that
/// truncates: from 16,000 tokens of input on it is 9,600 tokens, and from 32,000 on 0.30. The
/// distance between trigger and target prevents a compaction with every message: each makes the
/// provider read again what its cache had.
///
/// A stage that summarizes requests the summary up to a tenth of the window [before](Self::ahead)
/// its trigger, if the caller [goes on meanwhile](context_core::runtime::SummariesAhead).
///
/// A trigger that is not a share of the window, such as a number of messages, is a decision of the
/// program: the plan is carried out whatever its price, and the default target is 0.60 of the
/// tokens that the request has then.
///
/// ```
/// use context_runtime::compaction::{HistoryState, Pipeline, Stage};
/// use context_runtime::{microcompact::Microcompact, truncate_head::TruncateHead};
///
/// let gentle = Stage::new(Microcompact::new()).trigger(0.7).target(0.5);
/// let harsh = Stage::new(TruncateHead::new()).trigger(Stage::EMERGENCY);
/// let pipeline = Pipeline::new([gentle, harsh])?; // or everything that is wrong with them
/// let is_due = |share| pipeline.is_due(&HistoryState::of_share(share));
/// assert!(is_due(0.75) && !is_due(0.65));
///
/// let upside_down = Stage::new(Microcompact::new()).trigger(0.5).target(0.9);
/// assert!(Pipeline::new([upside_down]).is_err());
/// # Ok::<(), context_runtime::compaction::StageFaults>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Stage {
    policy: Arc<dyn CompactionPolicy>,
    trigger: Option<Trigger>,
    target: Option<f64>,
    ahead: Option<f64>,
}

impl Stage {
    /// The trigger of a stage that runs only if the request does not fit at all.
    pub const EMERGENCY: f64 = 1.0;

    /// Creates a stage with this policy.
    pub fn new(policy: impl CompactionPolicy) -> Self {
        Self::shared(Arc::new(policy))
    }

    /// Creates a stage with a shared policy.
    pub fn shared(policy: Arc<dyn CompactionPolicy>) -> Self {
        Self { policy, trigger: None, target: None, ahead: None }
    }

    /// Sets the trigger: a share of the window, or another [condition](Trigger). With
    /// [`EMERGENCY`](Self::EMERGENCY) the stage runs only if the request does not fit.
    pub fn trigger(mut self, trigger: impl Into<Trigger>) -> Self {
        self.trigger = Some(trigger.into());
        self
    }

    /// Sets the target, as a share of the window of any size.
    pub fn target(mut self, share: f64) -> Self {
        self.target = Some(share);
        self
    }

    /// Sets the share of the window from which a summary is requested ahead of its need, if the
    /// caller writes it while the conversation goes on. It is below the trigger and above the
    /// target, since a summary has nothing to shorten before. Default: a tenth of the window before
    /// a trigger that is a share, but not before the target; none before another trigger. Policies
    /// that need no model are not asked ahead.
    pub fn ahead(mut self, share: f64) -> Self {
        self.ahead = Some(share);
        self
    }
}

impl<P: CompactionPolicy> From<P> for Stage {
    fn from(policy: P) -> Self {
        Self::new(policy)
    }
}

/// A stage with its defaults filled in.
#[derive(Clone, Debug)]
pub(super) struct ResolvedStage {
    pub(super) policy: Arc<dyn CompactionPolicy>,
    pub(super) trigger: Trigger,
    /// The target as a share of the window. `None` for 0.60 of the request's tokens.
    pub(super) target: Option<f64>,
    /// Whether the target is lower in a large window.
    pub(super) target_falls: bool,
    /// The share of the window from which a summary is requested ahead. `None` for never.
    #[cfg_attr(not(feature = "tokens"), allow(dead_code, reason = "for the default runtime"))]
    pub(super) ahead: Option<f64>,
}

impl ResolvedStage {
    /// Whether the stage runs in this state.
    pub(super) fn is_due(&self, state: &HistoryState) -> bool {
        self.trigger.is_due(state)
    }

    /// Whether the stage requests a summary ahead in this state, in which it does not run yet.
    #[cfg_attr(not(feature = "tokens"), allow(dead_code, reason = "for the default runtime"))]
    pub(super) fn is_due_ahead(&self, state: &HistoryState) -> bool {
        self.ahead.is_some_and(|ahead| state.share >= ahead) && !self.is_due(state)
    }

    /// Returns the target in tokens for a window with this room for input.
    pub(super) fn target(&self, input: u64, state: &HistoryState) -> u64 {
        let (of, share) = match self.target {
            Some(share) => (input, share),
            None => (state.tokens.min(input), TARGET),
        };
        let tokens = |of: u64, share: f64| (of as f64 * share).floor() as u64;
        let target = tokens(of, share);
        match self.target_falls && self.target.is_some() {
            true => target.min(tokens(input, LARGE_TARGET).max(LARGE_TARGET_TOKENS)),
            false => target,
        }
    }
}

/// A fault in a stage.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StageFault {
    /// A share is not a number from 0 to 1.
    #[error("{policy}: a share of {share} is not between 0 and 1")]
    Share {
        /// The policy.
        policy: &'static str,
        /// The share.
        share: f64,
    },
    /// The target is not below the trigger.
    #[error("{policy}: the target {target} is not below the trigger {trigger}")]
    Target {
        /// The policy.
        policy: &'static str,
        /// The trigger, as a share of the window.
        trigger: f64,
        /// The target, as a share of the window.
        target: f64,
    },
    /// The share for summaries ahead is not below the trigger.
    #[error("{policy}: summaries from {ahead} on are not ahead of the trigger {trigger}")]
    Ahead {
        /// The policy.
        policy: &'static str,
        /// The share from which summaries are requested ahead.
        ahead: f64,
        /// The trigger, as a share of the window.
        trigger: f64,
    },
    /// The share for summaries ahead is not above the target.
    #[error("{policy}: summaries from {ahead} on are not above the target {target}")]
    AheadOfTarget {
        /// The policy.
        policy: &'static str,
        /// The share from which summaries are requested ahead.
        ahead: f64,
        /// The target, as a share of the window.
        target: f64,
    },
    /// The trigger is below that of an earlier stage.
    #[error("{policy} begins at {trigger}, before {before}, which is to be asked first")]
    Order {
        /// The policy.
        policy: &'static str,
        /// The trigger, as a share of the window.
        trigger: f64,
        /// The earlier stage.
        before: &'static str,
    },
    /// The policy occurs twice.
    #[error("{policy} is given twice")]
    Twice {
        /// The policy.
        policy: &'static str,
    },
}

/// All faults in the stages of a pipeline.
#[derive(Clone, PartialEq)]
pub struct StageFaults(pub Vec<StageFault>);

impl fmt::Display for StageFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the stages are invalid")?;
        for (i, fault) in self.0.iter().enumerate() {
            write!(f, "{} {fault}", if i == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl std::error::Error for StageFaults {}

context_core::readable_debug!(StageFault, StageFaults);

/// Fills in the defaults of the stages, or returns their faults.
pub(super) fn resolve(stages: Vec<Stage>) -> Result<Vec<ResolvedStage>, StageFaults> {
    let mut resolved: Vec<ResolvedStage> = Vec::with_capacity(stages.len());
    let mut faults = Vec::new();
    for Stage { policy, trigger, target, ahead } in stages {
        let name = policy.name();
        let summarizes = |stage: &ResolvedStage| stage.policy.kind() == PolicyKind::Summarize;
        let trigger = trigger.unwrap_or(Trigger::Share(match policy.kind() {
            PolicyKind::Shorten => 0.8,
            PolicyKind::Truncate => Stage::EMERGENCY,
            PolicyKind::LeaveOut if resolved.iter().any(summarizes) => Stage::EMERGENCY,
            _ => TRIGGER,
        }));
        let default = |share: f64| if share > TARGET { TARGET } else { share * 0.75 };
        // What a policy truncates is lost without a trace, so it takes no more than it must.
        let target_falls = target.is_none() && policy.kind() != PolicyKind::Truncate;
        let target = target.or_else(|| trigger.share().map(default));
        let wrong = target.into_iter().chain(ahead).find(|share| !is_share(*share));
        if let Some(share) = trigger.wrong_share().or(wrong) {
            faults.push(StageFault::Share { policy: name, share });
        } else if let (Some(trigger), Some(target)) = (trigger.share(), target)
            && target >= trigger
            && trigger > 0.0
        {
            faults.push(StageFault::Target { policy: name, trigger, target });
        }
        if let (Some(trigger), Some(ahead)) = (trigger.share(), ahead)
            && ahead >= trigger
        {
            faults.push(StageFault::Ahead { policy: name, ahead, trigger });
        } else if let (Some(target), Some(ahead)) = (target, ahead)
            && let target = if target_falls { target.min(LARGE_TARGET) } else { target }
            && ahead <= target
        {
            faults.push(StageFault::AheadOfTarget { policy: name, ahead, target });
        }
        if let Some(share) = trigger.share()
            && let Some(before) = resolved
                .iter()
                .find(|before| before.trigger.share().is_some_and(|before| before > share))
        {
            let before = before.policy.name();
            faults.push(StageFault::Order { policy: name, trigger: share, before });
        }
        if resolved.iter().any(|before| before.policy.name() == name) {
            faults.push(StageFault::Twice { policy: name });
        }
        let default = trigger.share().and_then(|share| {
            let ahead = (share - AHEAD).max(target.unwrap_or(0.0));
            Some(ahead).filter(|ahead| *ahead > 0.0 && *ahead < share)
        });
        let ahead = ahead.or(default).filter(|_| policy.kind() == PolicyKind::Summarize);
        resolved.push(ResolvedStage { policy, trigger, target, target_falls, ahead });
    }
    if faults.is_empty() { Ok(resolved) } else { Err(StageFaults(faults)) }
}
