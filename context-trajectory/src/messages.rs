//! Messages of a run: the stored form, what is cleaned before a replay, a compact text of them,
//! numbers, and a file that only grows.
//!
//! The currency here is the [`MessageRecord`], the form in which agent frameworks store messages: a
//! JSON object with a `type`, a `content` and what belongs to it. It keeps whatever it was read
//! from. [`to_records`] and [`to_messages`] lead to and from [`Message`](context_core::Message),
//! and nothing is lost on either way.
//!
//! * [`clean`] removes what cannot be replayed, or repairs it.
//! * [`format_context`] shows records as text for a model or a person.
//! * [`round_statistics`] and [`RunStatistics`] count tokens, time, turns and calls.
//! * [`MessageLog`] appends records to a file and reads them again; [`import_messages`] reads files
//!   of other systems.
//!
//! Histories for a provider are made valid by [`normalize`](context_core::normalize()), which knows
//! what providers demand; what is here works on records before that, and on files.

mod calls;
mod clean;
mod convert;
mod format;
mod import;
mod log;
mod python;
mod record;
mod statistics;
mod usage;

pub use calls::CallRecord;
pub use clean::{Cleaned, Cleaning, MISSING_RESULT, clean};
pub use convert::{to_messages, to_records};
pub use format::format_context;
pub use import::{
    ImportError, ImportProblem, ImportedMessages, UnreadRecord, import_messages, load_messages,
};
pub use log::{LoadedMessages, MessageLog};
pub use record::{MessageRecord, RecordError, RecordKind};
pub use statistics::{RoundStatistics, RunStatistics, ToolTime, round_statistics};
pub use usage::TokenUsage;
