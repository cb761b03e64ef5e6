//! Group `estimate`: the tokens of a block, counted with the vocabulary that the case names.

use context_core::model::{TokenCount, TokenCounter};
use context_runtime::Part;

use super::counting::O200k;
use super::messages::{Inexpressible, part};
use super::{Case, json};
use crate::encoding::{entry, text};
use crate::judge::{Difference, Outcome};

/// No tokens besides the content.
const COUNTER: O200k = O200k { message: 0 };

pub(super) fn judge(case: &Case) -> Outcome {
    if text(&case.data, "tokenizer").is_some_and(|tokenizer| tokenizer != COUNTER.name()) {
        return Outcome::Skipped("another vocabulary".to_owned());
    }
    let Some(block) = entry(case.input(), "block") else {
        return Outcome::Skipped("counts more than a block".to_owned());
    };
    let part = match part(block) {
        Ok(part) => part,
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our messages do not say {what}"));
        }
    };
    let ours = COUNTER.count_part(&part);
    let recorded = json(case.output()).as_u64();
    let checked =
        if case.is_suspect() { sound(&part, ours, recorded) } else { equal(ours, recorded) };
    Outcome::of(checked.map_err(|rule| {
        let recorded = recorded.map_or_else(|| "none".to_owned(), |tokens| tokens.to_string());
        Difference::new(rule, recorded, ours)
    }))
}

/// Checks that an exact count is equal, and that the recorded number is within the bounds of an
/// estimate.
fn equal(ours: TokenCount, recorded: Option<u64>) -> Result<String, &'static str> {
    let Some(recorded) = recorded else { return Err("a count") };
    let holds = (ours.low()..=ours.high()).contains(&recorded);
    match (holds, ours.is_exact()) {
        (true, true) => Ok("equal".to_owned()),
        (true, false) => Ok("within the bounds of an estimate".to_owned()),
        (false, _) => Err("equal, or within the bounds of an estimate"),
    }
}

/// Checks that everything sent is counted: a result with its content, a signature optionally, and
/// that no text stops the counting.
fn sound(part: &Part, ours: TokenCount, recorded: Option<u64>) -> Result<String, &'static str> {
    if ours.high() < recorded.unwrap_or_default().max(1) {
        return Err("room for what was recorded");
    }
    match part {
        Part::ToolResult(result) => {
            let held: TokenCount = result.output.iter().map(|part| COUNTER.count_part(part)).sum();
            if ours.tokens() < held.tokens() || ours.high() < held.high() {
                return Err("a result counts what it holds");
            }
        }
        Part::Reasoning(reasoning)
            if reasoning.signature.as_ref().is_some_and(|signature| !signature.is_empty())
                && ours.high() <= COUNTER.count(&reasoning.text).high() =>
        {
            return Err("a signature counts perhaps");
        }
        _ => {}
    }
    Ok("everything that is sent counts".to_owned())
}
