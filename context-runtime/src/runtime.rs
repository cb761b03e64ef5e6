//! Runtimes: what prepares the context of model calls.
//!
//! [`DefaultContextRuntime`] keeps a conversation within the model's window, remembers what was
//! counted, sent and recalled, and says what it did; [`NullContextRuntime`] keeps a number of
//! messages and no more. Neither calls a model: what needs one is handed to the caller, as a
//! decision or as a summary to ask for.
//!
//! A prepared call is made in this order: limit of messages, compaction, repair, system prompt,
//! recall, prefix and cache marks. What is stable stands in front and what changes from turn to
//! turn as late as it can, so that a provider's cache holds.
//!
//! What is kept of a session (which messages were seen, what was sent last) makes a call cheap: one
//! more message costs that message. It never changes what the same input becomes, but for what it
//! is there for: a compaction is not done twice, a turn recalls once.

mod append;
#[cfg(feature = "tokens")]
mod assemble;
mod boundary;
#[cfg(feature = "tokens")]
mod builder;
#[cfg(feature = "tokens")]
mod capture;
#[cfg(feature = "tokens")]
mod chain;
#[cfg(feature = "tokens")]
mod count;
#[cfg(feature = "tokens")]
mod cuts;
#[cfg(feature = "tokens")]
mod default;
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
mod track;

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
pub use pipeline::{Pipeline, Planned, PlannedStep};
#[cfg(feature = "tokens")]
pub use spill::{READ_SPILLED, Spill, Spilled, SpilledRange, spilled_output_tool};
pub use stage::{Stage, StageFault, StageFaults};
#[cfg(feature = "tokens")]
pub use tool_results::ToolResultLimits;
