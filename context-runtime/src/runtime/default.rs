//! The default runtime: windows, compaction, prompt cache, recall and tool results.

mod assemble;
mod builder;
mod capture;
mod clearing;
mod count;
mod cuts;
mod fingerprint;
mod index;
mod media;
mod parts;
mod prefix;
mod prepare;
mod prompt_cache;
mod readable;
mod recall;
mod recall_place;
mod recover;
mod repair;
mod runtime;
mod session;
mod spill;
mod status;
mod summary;
mod tool_results;

pub use builder::DefaultContextRuntimeBuilder;
pub use clearing::ProviderClearing;
pub use media::{LiveMedia, materialize};
pub use parts::{RuntimeFault, RuntimeFaults};
pub use prompt_cache::CacheKey;
pub use recall_place::RecallPlace;
pub use runtime::DefaultContextRuntime;
pub use spill::{READ_SPILLED, Spill, Spilled, SpilledRange, spilled_output_tool};
pub use status::ContextStatus;
pub use tool_results::ToolResultLimits;
