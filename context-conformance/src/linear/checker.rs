//! The check of a history: the search of Wing and Gong with the cache of Lowe, from `todc-utils`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use todc_utils::{Action, History, Specification, WGLChecker};

use super::call::{CheckedObject, ClientCall};
use super::history::{CallOutcome, RecordedCall};
use super::sequential::{Expected, SequentialState};

/// The number of steps after which a search is given up. A history of a run takes a few hundred.
const MOST_STEPS: u64 = 300_000;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linearizable {
    Yes,
    No,
    /// The search was given up.
    Undecided,
}

/// The state of the specification, compared by its fingerprint, and the number of calls with a
/// known outcome that led to it.
#[derive(Clone)]
struct CheckedState {
    state: Arc<SequentialState>,
    fingerprint: u64,
    done: usize,
}

impl CheckedState {
    fn new(state: SequentialState, done: usize) -> Self {
        Self { fingerprint: state.fingerprint(), state: Arc::new(state), done }
    }
}

impl PartialEq for CheckedState {
    fn eq(&self, other: &Self) -> bool {
        (self.fingerprint, self.done) == (other.fingerprint, other.done)
    }
}

impl Eq for CheckedState {}

impl Hash for CheckedState {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.fingerprint, self.done).hash(state);
    }
}

impl fmt::Debug for CheckedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.fingerprint)
    }
}

/// A call, and its number in the history.
#[derive(Clone, Debug)]
struct NumberedCall {
    number: usize,
    call: Arc<RecordedCall>,
}

/// The steps of the search that runs on this thread.
#[derive(Default)]
struct Search {
    steps: u64,
    /// The number of calls whose outcome is known.
    calls: usize,
    /// The results of steps, by the call and the state before.
    results: HashMap<(usize, CheckedState), (bool, CheckedState)>,
}

thread_local! {
    static SEARCH: RefCell<Search> = RefCell::default();
}

struct StoreSpecification;

impl Specification for StoreSpecification {
    type State = CheckedState;
    type Operation = NumberedCall;

    fn init() -> CheckedState {
        CheckedState::new(SequentialState::default(), 0)
    }

    fn apply(call: &NumberedCall, before: &CheckedState) -> (bool, CheckedState) {
        SEARCH.with_borrow_mut(|search| {
            search.steps += 1;
            if search.steps > MOST_STEPS {
                // No call is possible any more, so the search ends soon.
                return (false, before.clone());
            }
            let key = (call.number, before.clone());
            if let Some(known) = search.results.get(&key) {
                return known.clone();
            }
            let result = step(&call.call, before, search.calls);
            search.results.insert(key, result.clone());
            result
        })
    }
}

fn step(recorded: &RecordedCall, before: &CheckedState, calls: usize) -> (bool, CheckedState) {
    let is_unknown = recorded.outcome == CallOutcome::Unknown;
    if is_unknown && before.done == calls {
        // Nobody can see whether the call takes effect after all others.
        return (true, before.clone());
    }
    let mut state = (*before.state).clone();
    let expected = state.apply(&recorded.call);
    if is_unknown {
        // A call that changes nothing here is as good as one after all others.
        let after = CheckedState::new(state, before.done);
        return (expected.is_ok() && after != *before, after);
    }
    if !is_explained(&recorded.call, &recorded.outcome, &expected) {
        return (false, before.clone());
    }
    let done = before.done + 1;
    let same = recorded.call.is_read() || expected.is_err();
    (
        true,
        if same { CheckedState { done, ..before.clone() } } else { CheckedState::new(state, done) },
    )
}

/// Whether the outcome that a client saw is one that the specification allows.
fn is_explained(call: &ClientCall, saw: &CallOutcome, expected: &Expected) -> bool {
    match (saw, expected) {
        (CallOutcome::Unknown, _) => true,
        (CallOutcome::Refused(kind), Err(expected)) => kind == expected.as_str(),
        (CallOutcome::Replied(saw), Ok(expected)) => *saw == expected.to_string(),
        // The layer gives some commits a key and reports a replay of such a key as applied.
        (CallOutcome::Repeated(saw), Ok(expected)) if matches!(call, ClientCall::Commit(_)) => {
            let applied = |text: &str| text.replacen("replayed", "applied", 1);
            applied(saw) == applied(&expected.to_string())
        }
        (CallOutcome::Repeated(_), _) => true,
        _ => false,
    }
}

/// Checks the calls of one object.
///
/// A call whose outcome is unknown need not have taken effect, so an order without such calls will
/// do. The search tries first without those that left no trace, since each may take effect at any
/// time, which makes the search long.
pub(crate) fn check(calls: &[RecordedCall]) -> Linearizable {
    let replies: Vec<_> = calls
        .iter()
        .filter_map(|call| match &call.outcome {
            CallOutcome::Replied(text) | CallOutcome::Repeated(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let traces = |call: &RecordedCall| {
        let markers = call.call.markers();
        let is_shown =
            markers.iter().any(|marker| replies.iter().any(|reply| reply.contains(marker)));
        if is_shown {
            0
        } else if markers.is_empty() {
            1
        } else {
            2
        }
    };
    let is_unknown = |call: &RecordedCall| call.outcome == CallOutcome::Unknown;
    let traces: Vec<_> =
        calls.iter().map(|call| if is_unknown(call) { traces(call) } else { 0 }).collect();
    let (mut last, mut searched) = (Linearizable::Yes, None);
    for most in 0..=3 {
        let is_included =
            |(i, call): &(usize, &RecordedCall)| !is_unknown(call) || traces[*i] < most;
        let included: Vec<_> =
            calls.iter().enumerate().filter(is_included).map(|(_, call)| call.clone()).collect();
        if searched == Some(included.len()) {
            continue;
        }
        searched = Some(included.len());
        last = search(&included);
        if last == Linearizable::Yes {
            break;
        }
    }
    last
}

/// Searches for an order of these calls.
fn search(calls: &[RecordedCall]) -> Linearizable {
    if calls.is_empty() {
        return Linearizable::Yes;
    }
    // Beginnings and ends in order. A call whose outcome is unknown ends after all others.
    let mut events = Vec::with_capacity(2 * calls.len());
    for (number, call) in calls.iter().enumerate() {
        let numbered = NumberedCall { number, call: Arc::new(call.clone()) };
        let end = call.end.unwrap_or(usize::MAX);
        events.push(((call.begin, 0, number), (number, Action::Call(numbered.clone()))));
        events.push(((end, 1, number), (number, Action::Response(numbered))));
    }
    events.sort_by_key(|(place, _)| *place);
    let history = History::from_actions(events.into_iter().map(|(_, event)| event).collect());
    let calls = calls.iter().filter(|call| call.outcome != CallOutcome::Unknown).count();
    SEARCH.set(Search { calls, ..Search::default() });
    let found = WGLChecker::<StoreSpecification>::is_linearizable(history);
    match (found, SEARCH.take().steps > MOST_STEPS) {
        (true, _) => Linearizable::Yes,
        (false, true) => Linearizable::Undecided,
        (false, false) => Linearizable::No,
    }
}

/// Returns the calls of an object.
pub(crate) fn of_object(calls: &[RecordedCall], object: CheckedObject) -> Vec<RecordedCall> {
    calls.iter().filter(|call| call.object() == object).cloned().collect()
}

/// Cuts down the calls of a history that is not linearizable: it ends with the first event that
/// cannot be explained, and has no reads and refused calls that are not needed.
///
/// Only calls that wrote nothing are left out. Without a write, the rest would fail for another
/// reason.
pub(crate) fn shortest(calls: &[RecordedCall]) -> Vec<RecordedCall> {
    let ends: usize = calls.iter().filter_map(|call| call.end).max().map_or(0, |end| end + 1);
    // A beginning of a history that is linearizable is linearizable, too.
    let (mut sound, mut fails) = (0, ends);
    while sound + 1 < fails {
        let middle = sound + (fails - sound) / 2;
        match check(&until(calls, middle)) {
            Linearizable::No => fails = middle,
            _ => sound = middle,
        }
    }
    let mut left = until(calls, fails);
    for i in (0..left.len()).rev() {
        let wrote_nothing =
            left[i].call.is_read() || matches!(left[i].outcome, CallOutcome::Refused(_));
        if wrote_nothing {
            let mut fewer = left.clone();
            fewer.remove(i);
            if check(&fewer) == Linearizable::No {
                left = fewer;
            }
        }
    }
    left
}

/// Returns the history as it was before this place: what had not ended then is open.
fn until(calls: &[RecordedCall], place: usize) -> Vec<RecordedCall> {
    let begun = calls.iter().filter(|call| call.begin < place).cloned();
    let mut calls: Vec<_> = begun
        .map(|mut call| {
            if call.end.is_some_and(|end| end >= place) {
                (call.end, call.outcome) = (None, CallOutcome::Unknown);
            }
            call
        })
        .collect();
    calls.retain(|call| call.end.is_some() || !call.call.is_read());
    calls
}
