//! Failures as people and as programs see them.

use std::error::Error as _;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use context_runtime::{Json, JsonMap};
use serde::Serialize;

use super::settings::ColorWhen;
use super::style::{Painted, Style};
use crate::error::Failure;
use crate::near_names::NEAR;
use crate::text::clean;

#[derive(Serialize)]
struct ErrorRecord {
    error: ErrorBody,
}

#[derive(Serialize)]
struct ErrorBody {
    kind: &'static str,
    message: String,
    context: JsonMap,
}

/// Reports why a command failed.
pub(crate) fn report(failure: &Failure, json: bool, color: ColorWhen) {
    let mut stderr = io::stderr();
    let is_coloured = color.applies_to(stderr.is_terminal());
    let text = if json { as_json(failure) } else { as_text(failure, is_coloured) };
    // There is no other place to report this error.
    let _ = writeln!(stderr, "{text}");
}

/// Reports why a command failed to another writer, without colours.
pub(crate) fn report_to(mut to: impl Write, failure: &Failure, json: bool) {
    let text = if json { as_json(failure) } else { as_text(failure, false) };
    // There is no other place to report this error.
    let _ = writeln!(to, "{text}");
}

/// Returns a failure as people see it, without colours.
#[cfg(test)]
pub(crate) fn failure_text(failure: &Failure) -> String {
    as_text(failure, false)
}

/// Returns a failure as programs see it.
#[cfg(test)]
pub(crate) fn failure_json(failure: &Failure) -> String {
    as_json(failure)
}

pub(super) fn as_json(failure: &Failure) -> String {
    let context = failure
        .context()
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Json::from(value.as_str())));
    let body = ErrorBody {
        kind: failure.kind(),
        message: full_message(failure),
        context: context.collect(),
    };
    let record = serde_json::to_string(&ErrorRecord { error: body });
    // Escaped, the JSON is readable for people and has the same value.
    record.map_or_else(|_| failure.kind().to_owned(), |record| clean(&record).into_owned())
}

/// Returns the message, with those causes that add information.
fn full_message(failure: &Failure) -> String {
    let mut text = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        let message = error.to_string();
        let is_new = !text.contains(message.split(" at line ").next().unwrap_or(&message));
        if is_new && !matches!(failure, Failure::Store(_) if error.is::<context_runtime::Error>()) {
            let _ = write!(text, ": {message}");
        }
        cause = error.source();
    }
    text
}

pub(super) fn as_text(failure: &Failure, colour: bool) -> String {
    let head = Painted::new(Some(Style::Red).filter(|_| colour), "error");
    let message = full_message(failure);
    let mut text = format!("{head}: {}", clean(&message));
    let facts: Vec<_> = failure
        .context()
        .into_iter()
        .filter(|(key, value)| !["operation", NEAR].contains(key) && !value.is_empty())
        .map(|(key, value)| format!("{key} {}", clean(&value)))
        .collect();
    if !facts.is_empty() {
        let _ = write!(text, "\n  {}", facts.join(" · "));
    }
    if let Failure::Store(error) = failure
        && let Some(near) = error.get(NEAR)
    {
        let _ = write!(text, "\n  did you mean {}?", clean(&near.replace(", ", " or ")));
    }
    if let Some(advice) = failure.advice() {
        let _ = write!(text, "\n  {advice}");
    }
    text
}
