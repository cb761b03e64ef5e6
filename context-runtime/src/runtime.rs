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
mod assemble;
#[cfg(feature = "tokens")]
mod builder;
#[cfg(feature = "tokens")]
mod capture;
#[cfg(feature = "tokens")]
mod count;
#[cfg(feature = "tokens")]
mod cuts;
#[cfg(feature = "tokens")]
mod default;
#[cfg(feature = "tokens")]
mod fingerprint;
mod history;
#[cfg(feature = "tokens")]
mod index;
mod limit;
#[cfg(feature = "tokens")]
mod media;
mod null;
#[cfg(feature = "tokens")]
mod parts;
mod pipeline;
#[cfg(feature = "tokens")]
mod prefix;
#[cfg(feature = "tokens")]
mod prepare;
mod prompt;
#[cfg(feature = "tokens")]
mod recall;
#[cfg(feature = "tokens")]
mod recover;
#[cfg(feature = "tokens")]
mod repair;
#[cfg(feature = "tokens")]
mod session;
#[cfg(feature = "tokens")]
mod spill;
mod stage;
#[cfg(feature = "tokens")]
mod tool_results;

#[cfg(feature = "tokens")]
pub use builder::DefaultContextRuntimeBuilder;
#[cfg(feature = "tokens")]
pub use capture::CARRIED_OVER;
#[cfg(feature = "tokens")]
pub use default::DefaultContextRuntime;
#[cfg(feature = "tokens")]
pub use media::{LiveMedia, materialize};
pub use null::NullContextRuntime;
#[cfg(feature = "tokens")]
pub use parts::{RuntimeFault, RuntimeFaults};
pub use pipeline::{Pipeline, Planned, PlannedStep, PlannedSummary};
#[cfg(feature = "tokens")]
pub use spill::{READ_SPILLED, Spill, Spilled, SpilledRange, spilled_output_tool};
pub use stage::{Stage, StageFault, StageFaults};
#[cfg(feature = "tokens")]
pub use tool_results::ToolResultLimits;
