//! The position of the checker in a body, and its findings.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Rule, Violation};

/// The violations found so far.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Violation>);

impl Findings {
    pub(super) fn add(&mut self, rule: Rule, at: &BodyPath<'_>, message: impl Into<String>) {
        self.0.push(Violation { path: at.to_string(), rule, message: message.into() });
    }

    /// Adds a violation unless `holds` is true.
    pub(super) fn ask(&mut self, holds: bool, rule: Rule, at: &BodyPath<'_>, message: &str) {
        if !holds {
            self.add(rule, at, message);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn append(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }

    pub(super) fn into_violations(self) -> Vec<Violation> {
        self.0
    }
}

/// A position in a body. It is formatted only for a violation.
#[derive(Clone, Copy, Debug)]
pub(super) enum BodyPath<'a> {
    Body,
    Key(&'a BodyPath<'a>, &'a str),
    Item(&'a BodyPath<'a>, usize),
}

impl<'a> BodyPath<'a> {
    pub(super) fn key(&'a self, key: &'a str) -> BodyPath<'a> {
        BodyPath::Key(self, key)
    }

    pub(super) fn item(&'a self, index: usize) -> BodyPath<'a> {
        BodyPath::Item(self, index)
    }
}

impl std::fmt::Display for BodyPath<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut way = Vec::new();
        let mut at = *self;
        loop {
            match at {
                BodyPath::Body => break,
                BodyPath::Key(above, key) => {
                    way.push(Ok(key));
                    at = *above;
                }
                BodyPath::Item(above, index) => {
                    way.push(Err(index));
                    at = *above;
                }
            }
        }
        let mut path = String::new();
        for step in way.into_iter().rev() {
            match step {
                Ok(key) if path.is_empty() => path.push_str(key),
                Ok(key) => write!(path, ".{key}")?,
                Err(index) => write!(path, "[{index}]")?,
            }
        }
        f.write_str(&path)
    }
}

/// Returns the items of a list, or none for any other value.
pub(super) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the text under a key, if there is one.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// Returns the `type` of a block.
pub(super) fn kind(value: &Value) -> &str {
    text(value, "type").unwrap_or_default()
}
