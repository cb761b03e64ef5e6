//! Runtimes: they prepare the context of model calls.
//!
//! [`DefaultContextRuntime`] keeps a conversation within the model's window, remembers what it
//! counted, sent and recalled, and reports what it did. [`NullContextRuntime`] only limits the
//! number of messages. Neither calls a model: where one is needed, the runtime returns a decision
//! or a summary task to the caller.
//!
//! A call is prepared in this order: limit of messages, compaction, repair, system prompt, recall,
//! prefix and cache breakpoints. Stable content comes first and content that changes from turn to
//! turn as late as possible, so that the provider's prompt cache stays valid.
//!
//! A runtime keeps a session per chat: which messages were seen, and what was sent last. The
//! session makes a call cheap, so that a new message only costs the work for that message. It never
//! changes the result for the same input, with two exceptions: a compaction is not repeated, and a
//! turn recalls once.

mod append;
#[cfg(feature = "tokens")]
mod default;
#[cfg_attr(not(feature = "tokens"), allow(dead_code, reason = "most is for the default runtime"))]
mod history;
mod limit;
mod null;
mod pipeline;
#[cfg_attr(not(feature = "tokens"), allow(dead_code, reason = "most is for the default runtime"))]
mod prompt;
mod stage;
mod trigger;

#[cfg(feature = "tokens")]
pub use default::{
    CacheKey, ContextStatus, DefaultContextRuntime, DefaultContextRuntimeBuilder, LiveMedia,
    ProviderClearing, READ_SPILLED, RecallPlace, RuntimeFault, RuntimeFaults, Spill, Spilled,
    SpilledRange, ToolResultLimits, materialize, spilled_output_tool,
};
pub use null::NullContextRuntime;
pub use pipeline::{Pipeline, Planned, PlannedStep, PlannedSummary, USER_WORDS};
pub use stage::{Stage, StageFault, StageFaults};
pub use trigger::{HistoryState, Trigger};
