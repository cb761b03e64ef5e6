//! Ids and times of a case: the same in every run, with generated ids distinguishable from given
//! ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use context_runtime::{Clock, IdGenerator, Timestamp};
use serde_json::Value;

/// The prefix of generated ids. No recorded case has it.
const MARK: &str = "generated:";

#[derive(Clone, Debug, Default)]
pub(super) struct Ids(Arc<AtomicU64>);

impl IdGenerator for Ids {
    fn next_id(&self) -> String {
        format!("{MARK}{}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

#[derive(Debug, Default)]
pub(super) struct TickingClock(AtomicI64);

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// The generated ids that were shown, in order.
#[derive(Debug, Default)]
pub(super) struct ShownIds(Vec<String>);

impl ShownIds {
    /// Replaces generated ids by `#1`, `#2`, …
    pub(super) fn show(&mut self, value: Value) -> Value {
        map_texts(value, &mut |text| {
            if !text.starts_with(MARK) {
                return text;
            }
            let at = self.0.iter().position(|known| *known == text).unwrap_or_else(|| {
                self.0.push(text);
                self.0.len() - 1
            });
            format!("#{}", at + 1)
        })
    }

    /// Replaces `#1`, `#2`, … by the ids they stand for.
    pub(super) fn hide(&self, value: &Value) -> Value {
        map_texts(value.clone(), &mut |text| {
            let at = text.strip_prefix('#').and_then(|number| number.parse::<usize>().ok());
            at.and_then(|n| self.0.get(n.checked_sub(1)?).cloned()).unwrap_or(text)
        })
    }
}

fn map_texts(value: Value, map: &mut impl FnMut(String) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(map(text)),
        Value::Array(items) => items.into_iter().map(|item| map_texts(item, map)).collect(),
        Value::Object(entries) => {
            entries.into_iter().map(|(key, value)| (key, map_texts(value, map))).collect()
        }
        other => other,
    }
}
