//! Messages of a run: the stored form, cleaning before a replay, a compact text form, statistics,
//! and an append-only log.
//!
//! The unit is the [`MessageRecord`], the form in which agent frameworks store messages: a JSON
//! object with `type`, `content` and further fields. A record keeps everything it was read from.
//! [`to_records`] and [`to_messages`] convert from and to [`Message`](context_core::Message)
//! without loss in either direction.
//!
//! * [`clean`] removes or repairs records that cannot be replayed.
//! * [`format_context`] renders records as text for a model or a person.
//! * [`round_statistics`] and [`RunStatistics`] count tokens, time, turns and calls.
//! * [`MessageLog`] appends records to a file and reads them back. [`import_messages`] reads files
//!   of other systems.
//!
//! Wire codecs make histories valid, since they know the requirements of their providers. This
//! module works on records before that step, and on files.

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
pub use record::{MessageRecord, MessageRecordError, RecordKind};
pub use statistics::{RoundStatistics, RunStatistics, ToolTime, round_statistics};
pub use usage::TokenUsage;
