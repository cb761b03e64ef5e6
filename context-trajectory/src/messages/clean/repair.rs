//! Cleaning by completion.

use std::collections::{HashMap, HashSet, VecDeque};

use context_codec_kit::wire;
use context_core::base::{DiagnosticCode, JsonMap};
use context_core::{Diagnostic, Json};

use super::{
    Cleaned, MISSING_RESULT, SourcedRecord, answer_to, answered, drop_stale_marks, note, sizes,
};
use crate::messages::calls::{CallRecord, ID};
use crate::messages::convert::WHOLE;
use crate::messages::record::{
    CALL_ID, CALLS, INVALID_CALLS, KWARGS, MessageRecord, NAME, RecordKind, STATUS,
};

const MISSING: &str = "a call has no result: a marked stub was inserted";
const MOVED: &str = "another message came before it: it was moved to its call";
const ORPHANED: &str = "no call before it waits for it: a marked call was inserted";
const NAMED: &str = "a call or result without an id was given one";
/// The tool name used if no record states one.
const TOOL: &str = "tool";

pub(super) fn clean(records: Vec<MessageRecord>) -> Cleaned {
    let sizes = sizes(&records);
    let mut repair = Repair { ids: ids(&records), ..Repair::default() };
    for (index, record) in records.into_iter().enumerate() {
        match record.kind() {
            RecordKind::System => {}
            RecordKind::Ai => repair.answer(index, record),
            RecordKind::Tool if is_stub(&record) => repair.stub(index, record),
            RecordKind::Tool => repair.result(index, record),
            RecordKind::Human | RecordKind::Other => {
                repair.open = None;
                repair.turns.push(Turn::new(Some(index), record));
            }
        }
    }
    let (records, diagnostics) = repair.finished();
    Cleaned { records: drop_stale_marks(records, &sizes), diagnostics }
}

/// Returns all ids in use, so that new ids are unique.
fn ids(records: &[MessageRecord]) -> HashSet<String> {
    let of = |record: &MessageRecord| -> Vec<String> {
        let calls = record.calls().into_iter().chain(record.invalid_calls());
        let called = calls.filter_map(|call| call.key().map(str::to_owned));
        called.chain(answered(record)).collect()
    };
    records.iter().flat_map(of).collect()
}

fn is_stub(record: &MessageRecord) -> bool {
    record.is_synthetic() && record.text() == MISSING_RESULT
}

/// A record and its results.
struct Turn {
    head: SourcedRecord,
    results: Vec<SourcedRecord>,
    slots: Vec<Slot>,
    /// The slots of calls without an id.
    nameless: VecDeque<usize>,
    /// Results without a call that arrived before the end of the turn, each after a generated call
    /// message.
    behind: Vec<SourcedRecord>,
}

impl Turn {
    fn new(index: Option<usize>, record: MessageRecord) -> Self {
        let head = (index, record);
        Self {
            head,
            results: Vec::new(),
            slots: Vec::new(),
            nameless: VecDeque::new(),
            behind: Vec::new(),
        }
    }
}

/// The slot of a call's result.
struct Slot {
    id: String,
    name: Option<String>,
    filled: bool,
    stub: Option<SourcedRecord>,
}

/// Unfilled slots by id: those of the newest turn that uses the id, in order. A surplus result for
/// a newer call is not given to an older one, since a wrong result is worse than a missing one.
#[derive(Default)]
struct UnfilledSlots(HashMap<String, (usize, VecDeque<usize>)>);

impl UnfilledSlots {
    fn add(&mut self, id: &str, turn: usize, slot: usize) {
        let (newest, slots) = self.0.entry(id.to_owned()).or_default();
        if *newest != turn {
            *newest = turn;
            slots.clear();
        }
        slots.push_back(slot);
    }

    fn take(&mut self, id: &str) -> Option<(usize, usize)> {
        let (turn, slots) = self.0.get_mut(id)?;
        slots.pop_front().map(|slot| (*turn, slot))
    }
}

#[derive(Default)]
struct Repair {
    turns: Vec<Turn>,
    /// The turn whose results are being read.
    open: Option<usize>,
    for_results: UnfilledSlots,
    for_stubs: UnfilledSlots,
    ids: HashSet<String>,
    diagnostics: Vec<Diagnostic>,
}

impl Repair {
    fn note(&mut self, code: DiagnosticCode, index: usize, message: &'static str) {
        self.diagnostics.push(note(code, index, message));
    }

    /// Returns an unused id, derived from `id`.
    fn fresh(&mut self, mut id: String) -> String {
        while !self.ids.insert(id.clone()) {
            id.push('_');
        }
        id
    }

    fn answer(&mut self, index: usize, mut record: MessageRecord) {
        let named = self.name_calls(index, &mut record);
        let turn = self.turns.len();
        let calls: Vec<_> = record.calls().into_iter().chain(record.invalid_calls()).collect();
        let mut new = Turn::new(Some(index), record);
        for call in calls {
            let (slot, id) = (new.slots.len(), call.key().unwrap_or_default().to_owned());
            if named.contains(&id) {
                new.nameless.push_back(slot);
            }
            self.for_results.add(&id, turn, slot);
            self.for_stubs.add(&id, turn, slot);
            new.slots.push(Slot { id, name: call.name, filled: false, stub: None });
        }
        self.open = (!new.slots.is_empty()).then_some(turn);
        self.turns.push(new);
    }

    /// Gives ids to calls without one, and returns the new ids.
    fn name_calls(&mut self, index: usize, record: &mut MessageRecord) -> HashSet<String> {
        let mut named = HashSet::new();
        for (key, calls) in [(CALLS, record.calls()), (INVALID_CALLS, record.invalid_calls())] {
            let nameless: Vec<_> =
                (0..calls.len()).filter(|at| calls[*at].key().is_none()).collect();
            if nameless.is_empty() {
                continue;
            }
            let prefix = if key == CALLS { "call" } else { "invalid_call" };
            let new: HashMap<_, _> = nameless
                .into_iter()
                .map(|at| (at, self.fresh(format!("{prefix}_{index}_{at}"))))
                .collect();
            set_ids(record, key, key == INVALID_CALLS, &new);
            named.extend(new.into_values());
            self.note(DiagnosticCode::ToolCallRenamed, index, NAMED);
        }
        named
    }

    fn result(&mut self, index: usize, mut record: MessageRecord) {
        let place = match answered(&record) {
            Some(id) => self.for_results.take(&id),
            None => self.nameless_slot(index, &mut record),
        };
        let Some((turn, slot)) = place else { return self.orphan(index, record) };
        if self.open != Some(turn) {
            self.note(DiagnosticCode::ToolResultMoved, index, MOVED);
        }
        self.turns[turn].slots[slot].filled = true;
        self.turns[turn].results.push((Some(index), record));
    }

    /// Returns the slot of a result without an id: that of the first call in the open turn that
    /// also has none.
    fn nameless_slot(
        &mut self,
        index: usize,
        record: &mut MessageRecord,
    ) -> Option<(usize, usize)> {
        let turn = self.open?;
        let slot = self.turns[turn].nameless.pop_front()?;
        let id = self.turns[turn].slots[slot].id.clone();
        answer_to(record, &id);
        self.note(DiagnosticCode::ToolCallRenamed, index, NAMED);
        self.for_results.take(&id)
    }

    fn orphan(&mut self, index: usize, mut record: MessageRecord) {
        self.note(DiagnosticCode::ToolResultOrphaned, index, ORPHANED);
        let id = answered(&record).unwrap_or_else(|| {
            let id = self.fresh(format!("call_{index}"));
            answer_to(&mut record, &id);
            id
        });
        let name = record.name();
        let call = wire::object([
            (NAME, name.as_deref().unwrap_or(TOOL).into()),
            ("args", Json::from(serde_json::json!({}))),
            (ID, id.as_str().into()),
            ("type", "tool_call".into()),
        ]);
        let caller =
            MessageRecord::new(RecordKind::Ai, "").with(CALLS, wire::array(&[call])).synthetic();
        match self.open {
            Some(turn) => self.turns[turn].behind.extend([(None, caller), (Some(index), record)]),
            None => {
                let mut turn = Turn::new(None, caller);
                turn.results.push((Some(index), record));
                self.turns.push(turn);
            }
        }
    }

    /// Keeps a stub of an earlier repair until a real result arrives. A stub without a slot is
    /// dropped.
    fn stub(&mut self, index: usize, record: MessageRecord) {
        let place = answered(&record).and_then(|id| self.for_stubs.take(&id));
        if let Some((turn, slot)) = place {
            self.turns[turn].slots[slot].stub = Some((Some(index), record));
        }
    }

    fn finished(mut self) -> (Vec<SourcedRecord>, Vec<Diagnostic>) {
        let mut records = Vec::new();
        for turn in self.turns {
            let head = turn.head.0;
            records.push(turn.head);
            records.extend(turn.results);
            for slot in turn.slots.into_iter().filter(|slot| !slot.filled) {
                records.push(slot.stub.unwrap_or_else(|| {
                    self.diagnostics.extend(
                        head.map(|index| note(DiagnosticCode::ToolResultInjected, index, MISSING)),
                    );
                    (None, stub(&slot.id, slot.name.as_deref()))
                }));
            }
            records.extend(turn.behind);
        }
        (records, self.diagnostics)
    }
}

fn stub(id: &str, name: Option<&str>) -> MessageRecord {
    MessageRecord::new(RecordKind::Tool, MISSING_RESULT)
        .with(NAME, name.unwrap_or_default())
        .with(CALL_ID, id)
        .with(STATUS, "error")
        .synthetic()
}

/// Sets the ids of calls, in every list of the record that contains them.
fn set_ids(
    record: &mut MessageRecord,
    key: &'static str,
    invalid: bool,
    new: &HashMap<usize, String>,
) {
    record.remove(WHOLE);
    let with_ids = |json: &Json| -> Json {
        let mut items: Vec<Json> = json.parse().unwrap_or_default();
        let calls = items.iter_mut().filter(|item| CallRecord::read(item, invalid).is_some());
        for (at, item) in calls.enumerate() {
            let call = item.parse::<JsonMap>().ok().zip(new.get(&at));
            if let Some((mut call, id)) = call {
                call.insert(ID.to_owned(), id.as_str().into());
                *item = wire::from_map(&call);
            }
        }
        wire::array(&items)
    };
    if !CallRecord::read_list(record.get(key), invalid).is_empty() {
        let list = record.get(key).map(with_ids);
        list.into_iter().for_each(|list| record.set(key, list));
        return;
    }
    let kwargs = record.get(KWARGS).and_then(|json| json.parse::<JsonMap>().ok());
    if let Some(mut kwargs) = kwargs {
        let list = kwargs.get(key).map(with_ids);
        list.into_iter().for_each(|list| drop(kwargs.insert(key.to_owned(), list)));
        record.set(KWARGS, wire::from_map(&kwargs));
    }
}
