//! Making a stored conversation replayable.

mod drop;
mod repair;

use context_core::Diagnostic;
use context_core::base::{DiagnosticCode, Severity};

use super::convert::{CONTINUES, WHOLE};
use super::record::{CALL_ID, MessageRecord, RecordKind};

/// The text that stands in for a missing result. Such a record is marked as
/// [synthetic](context_core::message::Origin::Synthetic).
pub const MISSING_RESULT: &str = context_core::model::Unanswered::TEXT;

/// The treatment of calls and results that do not match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cleaning {
    /// Removes them. A model message stays if the results of all its calls follow directly.
    /// Otherwise it is removed together with the results that exist. Results without a call, second
    /// results and late results are removed too.
    #[default]
    Drop,
    /// Removes nothing. A missing result is filled in as a marked stub. A late result moves to its
    /// call and replaces the stub. A result without a call gets a marked model message with the
    /// call. A call or result without an id gets one.
    Repair,
}

/// Records that can be replayed.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct Cleaned {
    /// The records, without those of the application.
    pub records: Vec<MessageRecord>,
    /// The changes that were made, except for the removal of application records. Paths give
    /// positions in the input.
    pub diagnostics: Vec<Diagnostic>,
}

/// Removes the application's records, which the next run adds itself, and makes calls and results
/// match.
///
/// Ids are compared after trimming. A call without an id cannot be answered. Each call needs its
/// own result, even if two calls share an id. An invalid call was never executed, so its message
/// does not need a result for it, but keeps one that exists.
///
/// Idempotent. The cost is linear in the size of the input.
pub fn clean(records: Vec<MessageRecord>, how: Cleaning) -> Cleaned {
    match how {
        Cleaning::Drop => drop::clean(records),
        Cleaning::Repair => repair::clean(records),
    }
}

/// Returns the trimmed id of the call that a result answers.
fn answered(record: &MessageRecord) -> Option<String> {
    let id = record.tool_call_id()?.trim().to_owned();
    (!id.is_empty()).then_some(id)
}

fn note(code: DiagnosticCode, index: usize, message: &'static str) -> Diagnostic {
    Diagnostic::new(code, Severity::Warning, format!("messages[{index}]"), message)
}

/// A record that stays, with its position in the input, or `None` for a record that was created
/// here.
type SourcedRecord = (Option<usize>, MessageRecord);

/// Removes continuation marks and stored whole messages that are no longer valid because other
/// records of the same message were removed.
fn drop_stale_marks(input: Vec<SourcedRecord>, sizes: &[usize]) -> Vec<MessageRecord> {
    let mut records: Vec<MessageRecord> = Vec::with_capacity(input.len());
    // The start of the current message in the input and in the output.
    let mut began: Option<(usize, usize)> = None;
    let mut before = None;
    for (index, mut record) in input {
        let goes_on = record.get(CONTINUES).is_some()
            && index.is_some()
            && before == index.and_then(|at| at.checked_sub(1));
        if !goes_on {
            forget_whole(&mut records, began, sizes);
            record.remove(CONTINUES);
            began = index.map(|index| (index, records.len()));
        }
        records.push(record);
        before = index;
    }
    forget_whole(&mut records, began, sizes);
    records
}

fn forget_whole(records: &mut [MessageRecord], began: Option<(usize, usize)>, sizes: &[usize]) {
    let Some((index, at)) = began else { return };
    let length = records.len() - at;
    if sizes.get(index) != Some(&length) && records[at].get(WHOLE).is_some() {
        records[at].remove(WHOLE);
    }
}

/// Returns for each record that starts a message how many records belong to that message.
fn sizes(records: &[MessageRecord]) -> Vec<usize> {
    let mut sizes = vec![1; records.len()];
    for at in (1..records.len()).rev() {
        let goes_on = records[at].kind() == RecordKind::Tool
            && records[at - 1].kind() == RecordKind::Tool
            && records[at].get(CONTINUES).is_some();
        if goes_on {
            sizes[at - 1] += sizes[at];
        }
    }
    sizes
}

fn answer_to(record: &mut MessageRecord, id: &str) {
    record.remove(WHOLE);
    record.set(CALL_ID, id);
}
