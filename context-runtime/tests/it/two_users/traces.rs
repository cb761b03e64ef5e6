//! Traces as text: every span and every event with all its fields.

use std::fmt::{Debug, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// A subscriber that records everything.
#[derive(Clone, Default)]
pub(crate) struct Traces {
    lines: Arc<Mutex<Vec<String>>>,
    next: Arc<AtomicU64>,
}

impl Traces {
    /// The lines so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    fn line(&self, of: &Metadata<'_>, fields: impl FnOnce(&mut TraceLine)) {
        let mut line = TraceLine(format!("{} {}", of.level(), of.name()));
        fields(&mut line);
        self.lines.lock().unwrap().push(line.0);
    }
}

struct TraceLine(String);

impl Visit for TraceLine {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl Subscriber for Traces {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.line(span.metadata(), |line| span.record(line));
        Id::from_u64(self.next.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut line = TraceLine("record".to_owned());
        values.record(&mut line);
        self.lines.lock().unwrap().push(line.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.line(event.metadata(), |line| event.record(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
