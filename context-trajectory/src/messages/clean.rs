//! What of a stored conversation can be replayed.

mod drop;
mod repair;

use context_core::Diagnostic;
use context_core::base::{DiagnosticCode, Severity};

use super::convert::{CONTINUES, WHOLE};
use super::record::{CALL_ID, MessageRecord, RecordKind};

/// What stands in the place of a result that is missing. Such a record is marked as
/// [synthetic](context_core::Message::SYNTHETIC).
pub const MISSING_RESULT: &str = context_core::model::Unanswered::TEXT;

/// What becomes of calls and results that do not stand together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cleaning {
    /// They go. A message of the model stays with all results of its calls right behind it, before
    /// anybody else speaks; else it goes, and the results that are there go with it. So do results
    /// without a call, second results, and late ones.
    #[default]
    Drop,
    /// Nothing goes. A missing result is filled by a marked stub, a late one moves to its call and
    /// takes the stub's place, one without a call gets a marked message of the model that calls; a
    /// call or result without an id gets one.
    Repair,
}

/// Records that can be replayed.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct Cleaned {
    /// The records, without those of the application.
    pub records: Vec<MessageRecord>,
    /// What was done, but for records of the application. Paths name records by their position in
    /// what was given.
    pub diagnostics: Vec<Diagnostic>,
}

/// Removes the application's records, which the next run brings itself, and makes calls and results
/// stand together.
///
/// Ids are compared without white space around them. A call without an id cannot be answered. Each
/// call needs a result of its own, also where two have one id. An invalid call was never run: to be
/// dropped for it, its message need not miss anything, but a result of it stays.
///
/// Doing it twice is doing it once. The time it takes grows with what is given.
pub fn clean(records: Vec<MessageRecord>, how: Cleaning) -> Cleaned {
    match how {
        Cleaning::Drop => drop::clean(records),
        Cleaning::Repair => repair::clean(records),
    }
}

/// Which call a result answers, as it is compared.
fn answered(record: &MessageRecord) -> Option<String> {
    let id = record.tool_call_id()?.trim().to_owned();
    (!id.is_empty()).then_some(id)
}

fn note(code: DiagnosticCode, index: usize, message: &'static str) -> Diagnostic {
    Diagnostic::new(code, Severity::Warning, format!("messages[{index}]"), message)
}

/// A record that stays, and its position in what was given; none for one that was made.
type Kept = (Option<usize>, MessageRecord);

/// What stays of records that were one message together says so no more if some of it is gone.
fn settled(kept: Vec<Kept>, sizes: &[usize]) -> Vec<MessageRecord> {
    let mut records: Vec<MessageRecord> = Vec::with_capacity(kept.len());
    // Where the message at hand began, among those given and among those kept.
    let mut began: Option<(usize, usize)> = None;
    let mut before = None;
    for (index, mut record) in kept {
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
    let kept = records.len() - at;
    if sizes.get(index) != Some(&kept) && records[at].get(WHOLE).is_some() {
        records[at].remove(WHOLE);
    }
}

/// For each record how many are one message with it, if it is the first of them.
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
