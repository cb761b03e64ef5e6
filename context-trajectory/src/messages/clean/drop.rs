//! Cleaning by removal.

use std::collections::HashMap;

use context_core::Diagnostic;
use context_core::base::DiagnosticCode;

use super::{Cleaned, answered, drop_stale_marks, note, sizes};
use crate::messages::calls::CallRecord;
use crate::messages::record::{MessageRecord, RecordKind};

const UNANSWERED: &str = "a call has no result, so its message was left out";
const WITH_ITS_CALL: &str = "another call of the same message has no result, so it was left out";
const WITHOUT_CALL: &str = "no call before it waits for it, so it was left out";

pub(super) fn clean(records: Vec<MessageRecord>) -> Cleaned {
    let mut walk = Walk { stays: vec![false; records.len()], diagnostics: Vec::new(), open: None };
    for (index, record) in records.iter().enumerate() {
        match record.kind() {
            RecordKind::System => {}
            RecordKind::Tool => walk.result(index, record),
            RecordKind::Ai => {
                walk.close();
                walk.stays[index] = true;
                walk.open = OpenTurn::new(index, record);
            }
            RecordKind::Human | RecordKind::Other => {
                walk.close();
                walk.stays[index] = true;
            }
        }
    }
    walk.close();
    let sizes = sizes(&records);
    let stays = records.into_iter().enumerate().filter(|(index, _)| walk.stays[*index]);
    let records = stays.map(|(index, record)| (Some(index), record)).collect();
    Cleaned { records: drop_stale_marks(records, &sizes), diagnostics: walk.diagnostics }
}

struct Walk {
    stays: Vec<bool>,
    diagnostics: Vec<Diagnostic>,
    open: Option<OpenTurn>,
}

impl Walk {
    fn result(&mut self, index: usize, record: &MessageRecord) {
        let taken = match (&mut self.open, answered(record)) {
            (Some(open), Some(id)) => open.takes(&id, index),
            _ => false,
        };
        self.stays[index] = taken;
        if !taken {
            self.diagnostics.push(note(DiagnosticCode::ToolResultOrphaned, index, WITHOUT_CALL));
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.take().filter(|open| open.missing > 0) else { return };
        self.stays[open.index] = false;
        self.diagnostics.push(note(DiagnosticCode::ToolCallRemoved, open.index, UNANSWERED));
        for index in open.results {
            self.stays[index] = false;
            self.diagnostics.push(note(DiagnosticCode::ToolResultOrphaned, index, WITH_ITS_CALL));
        }
    }
}

/// A model message whose results may still follow.
struct OpenTurn {
    index: usize,
    results: Vec<usize>,
    /// The number of results that are still missing.
    missing: usize,
    /// The number of expected results by call id.
    awaited: HashMap<String, usize>,
    /// The number of optional results by call id, for invalid calls.
    optional: HashMap<String, usize>,
}

impl OpenTurn {
    fn new(index: usize, record: &MessageRecord) -> Option<Self> {
        let (calls, invalid) = (record.calls(), record.invalid_calls());
        let calls_at_all = !calls.is_empty() || !invalid.is_empty();
        calls_at_all.then(|| Self {
            index,
            results: Vec::new(),
            // A call without an id is never answered.
            missing: calls.len(),
            awaited: counts(&calls),
            optional: counts(&invalid),
        })
    }

    fn takes(&mut self, id: &str, result: usize) -> bool {
        let awaited = take(&mut self.awaited, id);
        let taken = awaited || take(&mut self.optional, id);
        self.missing -= usize::from(awaited);
        self.results.extend(taken.then_some(result));
        taken
    }
}

fn counts(calls: &[CallRecord]) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for id in calls.iter().filter_map(CallRecord::key) {
        *counts.entry(id.to_owned()).or_default() += 1;
    }
    counts
}

fn take(counts: &mut HashMap<String, usize>, id: &str) -> bool {
    let left = counts.get_mut(id).filter(|left| **left > 0);
    left.map(|left| *left -= 1).is_some()
}
