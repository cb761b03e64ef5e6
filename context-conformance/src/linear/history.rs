//! The record of all calls of a run: when each began and ended, and its outcome.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use context_core::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

use super::call::{CheckedObject, ClientCall};

/// The outcome of a call, as its client saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CallOutcome {
    /// The reply, as a text.
    Replied(String),
    /// The call was refused with an error of this kind, so nothing was written.
    Refused(String),
    /// The call failed, and may or may not have taken effect, now or later.
    Unknown,
    /// A layer repeated the call, and made up the reply from those of several tries.
    Repeated(String),
}

impl CallOutcome {
    /// Returns the outcome of a call that failed. A store that cannot be reached says nothing about
    /// what was written.
    pub(crate) fn of_error(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::Cancelled => Self::Unknown,
            kind => Self::Refused(kind.as_str().to_owned()),
        }
    }
}

/// A call of a client, with its place in the order of all beginnings and ends.
#[derive(Clone, Debug)]
pub(crate) struct RecordedCall {
    pub(crate) client: usize,
    pub(crate) call: ClientCall,
    pub(crate) begin: usize,
    /// `None` if the outcome is unknown: the call may take effect at any later time.
    pub(crate) end: Option<usize>,
    pub(crate) outcome: CallOutcome,
}

impl RecordedCall {
    pub(crate) fn object(&self) -> CheckedObject {
        self.call.object()
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum CallEvent {
    Begin { id: u64, client: usize, call: ClientCall },
    End { id: u64, outcome: CallOutcome, retries: u64 },
}

/// A log to which clients append the beginnings and ends of their calls. The log of several
/// processes is a file, whose order is that of the writes.
#[derive(Debug)]
pub(crate) struct CallLog {
    events: Mutex<Events>,
    ended: AtomicU64,
}

#[derive(Debug)]
enum Events {
    Memory(Vec<CallEvent>),
    File(File),
}

impl CallLog {
    pub(crate) fn new() -> Self {
        Self { events: Mutex::new(Events::Memory(Vec::new())), ended: AtomicU64::new(0) }
    }

    /// Opens the log of several processes.
    pub(crate) fn shared(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { events: Mutex::new(Events::File(file)), ended: AtomicU64::new(0) })
    }

    fn events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, event: CallEvent) {
        match &mut *self.events() {
            Events::Memory(events) => events.push(event),
            Events::File(file) => {
                // One write per line, so that a process that is killed leaves whole lines. A line
                // that cannot be written is an end without a beginning, which the reader notices.
                if let Ok(mut line) = serde_json::to_vec(&event) {
                    line.push(b'\n');
                    let _noticed_by_the_reader = file.write_all(&line);
                }
            }
        }
    }

    /// Records that a client is about to make a call.
    pub(crate) fn begin(&self, id: u64, client: usize, call: &ClientCall) {
        self.append(CallEvent::Begin { id, client, call: call.clone() });
    }

    /// Records the end of a call, which a layer retried this many times.
    pub(crate) fn end(&self, id: u64, outcome: CallOutcome, retries: u64) {
        self.append(CallEvent::End { id, outcome, retries });
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the number of calls that have ended in this process.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(Ordering::SeqCst)
    }

    /// Returns the calls so far, ordered by their beginnings.
    pub(crate) fn calls(&self) -> Vec<RecordedCall> {
        match &*self.events() {
            Events::Memory(events) => calls_of(events.iter().cloned()),
            Events::File(_) => Vec::new(),
        }
    }

    /// Reads the calls of the log of several processes. The last line of a killed process may be
    /// incomplete.
    pub(crate) fn read(path: &Path) -> io::Result<Vec<RecordedCall>> {
        let text = std::fs::read_to_string(path)?;
        Ok(calls_of(text.lines().filter_map(|line| serde_json::from_str(line).ok())))
    }
}

fn calls_of(events: impl Iterator<Item = CallEvent>) -> Vec<RecordedCall> {
    let mut calls: Vec<RecordedCall> = Vec::new();
    let mut open = HashMap::new();
    let mut repeated = Vec::new();
    for (at, event) in events.enumerate() {
        match event {
            CallEvent::Begin { id, client, call } => {
                open.insert(id, calls.len());
                let (end, outcome) = (None, CallOutcome::Unknown);
                calls.push(RecordedCall { client, call, begin: at, end, outcome });
            }
            CallEvent::End { id, outcome, retries } => {
                let Some(recorded) = open.remove(&id).and_then(|i| calls.get_mut(i)) else {
                    continue;
                };
                // Each try of a layer but the last is a call of its own, whose outcome is unknown.
                // A commit has a key, so that all its tries are one.
                let is_one = matches!(recorded.call, ClientCall::Commit(_));
                if retries > 0 && !recorded.call.is_read() && !is_one {
                    repeated.extend((0..retries).map(|_| recorded.clone()));
                }
                recorded.end = (outcome != CallOutcome::Unknown).then_some(at);
                recorded.outcome = match outcome {
                    CallOutcome::Replied(text) if retries > 0 && recorded.call.hides_retries() => {
                        CallOutcome::Repeated(text)
                    }
                    outcome => outcome,
                };
            }
        }
    }
    calls.extend(repeated);
    // A read whose outcome is unknown says nothing.
    calls.retain(|call| call.end.is_some() || !call.call.is_read());
    calls.sort_by_key(|call| call.begin);
    calls
}
