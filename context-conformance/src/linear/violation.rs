//! A run that failed, and the history that shows it.

use std::fmt::{self, Write};

use context_core::BoxError;

use super::call::CheckedObject;
use super::history::{CallOutcome, RecordedCall};

/// The reason why a run failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunFailure {
    /// No order of the calls explains the replies.
    NotLinearizable(Box<HistoryShown>),
    /// The search for an order was given up.
    Undecided(Box<HistoryShown>),
    /// The store did not answer again after the run.
    Unreachable(String),
    /// The disturbance itself failed.
    Nemesis(BoxError),
    /// The log of the calls could not be read.
    Log(std::io::Error),
}

impl RunFailure {
    /// Returns whether the store broke its promise.
    pub fn is_violation(&self) -> bool {
        matches!(self, Self::NotLinearizable(_))
    }
}

impl fmt::Display for RunFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLinearizable(shown) => write!(f, "no order explains these replies\n{shown}"),
            Self::Undecided(shown) => write!(f, "the search for an order was given up\n{shown}"),
            Self::Unreachable(call) => write!(f, "the store does not answer after the run: {call}"),
            Self::Nemesis(error) => write!(f, "the disturbance failed: {error}"),
            Self::Log(error) => write!(f, "the log of the calls: {error}"),
        }
    }
}

impl std::error::Error for RunFailure {}

/// A history as people read it. Holds the cell and the seed, and one line for each call.
#[derive(Clone, Debug)]
pub struct HistoryShown {
    cell: String,
    seed: u64,
    clients: usize,
    object: CheckedObject,
    calls: Vec<RecordedCall>,
}

impl HistoryShown {
    pub(crate) fn new(
        cell: &str,
        seed: u64,
        clients: usize,
        object: CheckedObject,
        calls: Vec<RecordedCall>,
    ) -> Self {
        Self { cell: cell.to_owned(), seed, clients, object, calls }
    }

    /// Returns the number of calls.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns whether no call is left.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}

impl fmt::Display for HistoryShown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cell, seed, clients, object, calls } = self;
        writeln!(f, "cell {cell}, seed {seed:#x}, {clients} clients, object {object:?}")?;
        write!(f, "  begin   end  client  call, outcome")?;
        for recorded in calls {
            let RecordedCall { client, call, begin, end, outcome } = recorded;
            let end = end.map_or_else(|| "open".to_owned(), |end| end.to_string());
            let client = if *client == usize::MAX { "-".to_owned() } else { client.to_string() };
            write!(f, "\n  {begin:>5} {end:>5} {client:>7}  {call:?}\n{:23}", "")?;
            match outcome {
                CallOutcome::Replied(text) => write!(f, "= {text}")?,
                CallOutcome::Refused(kind) => write!(f, "refused: {kind}")?,
                CallOutcome::Unknown => f.write_str("outcome unknown")?,
                CallOutcome::Repeated(text) => write!(f, "= {text} (sent more than once)")?,
            }
        }
        f.write_char('\n')?;
        write!(f, "again: CONTEXT_CONFORMANCE_SEED={seed:#x} CONTEXT_CONFORMANCE_HISTORIES=1")
    }
}
