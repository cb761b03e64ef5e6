//! Groups `real_request`, `memory_query` and `budget`: who made a request, what is recalled, and
//! how full the window is.
//!
//! A text that looks like one of the recorded system's own is the user's, unless it is marked: see
//! [`messages`](super::messages). Suspect cases test that, so nothing is marked by its tag in them.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use context_runtime::{
    CancelSignal, ContextRuntime, DefaultContextRuntime, FragmentData, PrepareInput,
    compaction::{Budget, Pressure},
    memory::{CapturedTurn, MemoryProvider, RecallQuery, Recalled},
    store::{MemoriesForgotten, MemoryForget},
};

use super::counting::Bytes;
use super::history::shown;
use super::messages::{Inexpressible, Reader, decode};
use super::{Case, json};
use crate::encoding::{entry, items, text};
use crate::judge::{Difference, Outcome};

pub(super) fn judge_request(case: &Case) -> Outcome {
    let Some(message) = entry(case.input(), "message") else {
        return Outcome::Skipped("no message is given".to_owned());
    };
    let reader = Reader { by_tag: !case.is_suspect(), references: true };
    let decoded = match reader.decode(std::slice::from_ref(message)) {
        Ok(decoded) => decoded,
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our messages do not say {what}"));
        }
    };
    let ours = decoded.messages.iter().any(|message| message.is_request());
    let expected = case.output() == &FragmentData::Bool(true);
    let (holds, rule) = match case.is_suspect() {
        true => {
            let says = items(message, "content").iter().any(|block| match text(block, "type") {
                Some("text") => text(block, "text").is_some_and(|text| !text.trim().is_empty()),
                _ => false,
            });
            let marked = entry(message, "metadata")
                .is_some_and(|facts| crate::encoding::flag(facts, "synthetic"));
            let by_user = text(message, "role") == Some("user");
            (
                ours || !says || marked || !by_user,
                "sound: what a user says is a request, whatever it looks like",
            )
        }
        false => (ours == expected, "equal"),
    };
    if holds {
        Outcome::Passed(rule.to_owned())
    } else {
        Outcome::Failed(Difference::new(rule, expected, ours))
    }
}

/// A memory that only records its queries.
#[derive(Debug, Default)]
struct QueryLog(Mutex<Vec<String>>);

#[async_trait]
impl MemoryProvider for QueryLog {
    async fn recall(
        &self,
        query: &RecallQuery,
        _: &CancelSignal,
    ) -> context_runtime::Result<Recalled> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(query.text.clone());
        Ok(Recalled::default())
    }

    async fn capture(&self, _: &CapturedTurn, _: &CancelSignal) -> context_runtime::Result<()> {
        Ok(())
    }

    async fn forget(&self, _: &MemoryForget) -> context_runtime::Result<MemoriesForgotten> {
        Ok(MemoriesForgotten::default())
    }
}

pub(super) fn judge_query(case: &Case) -> Outcome {
    let given = match decode(items(case.input(), "messages")) {
        Ok(decoded) => decoded.messages,
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our messages do not say {what}"));
        }
    };
    let asked = Arc::new(QueryLog::default());
    let builder =
        DefaultContextRuntime::builder().window(1 << 20).reserve(1).counter(Arc::new(Bytes));
    let runtime = match builder.memory(Arc::clone(&asked)).build() {
        Ok(runtime) => runtime,
        Err(faults) => return Outcome::Failed(Difference::new("a runtime", "one", faults)),
    };
    let input = PrepareInput::new(("ada", "s"), "t", "openai", "any")
        .messages(given.iter().map(Arc::clone));
    if let Err(error) = case.wait(runtime.prepare_for_model(input)) {
        return Outcome::Failed(Difference::new("is prepared", shown(case.output()), error));
    }
    let ours = asked.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let newest = given
        .iter()
        .rev()
        .find(|message| message.is_request() && !message.plain_text().trim().is_empty());
    let newest: Vec<String> =
        newest.iter().map(|message| message.plain_text().into_owned()).collect();
    // The recorded runtime recalls for each call, ours once per turn.
    let mut recorded: Vec<String> = items(case.output(), "queries")
        .iter()
        .filter_map(|query| query.as_text().map(str::to_owned))
        .collect();
    recorded.dedup();
    let (holds, expected, rule) = match case.is_suspect() {
        true => (ours == newest, newest, "sound: the newest request of the user, asked about once"),
        false => (ours == recorded, recorded, "equal, asked once for a turn"),
    };
    let difference = || Difference::new(rule, format!("{expected:?}"), format!("{ours:?}"));
    if holds { Outcome::Passed(rule.to_owned()) } else { Outcome::Failed(difference()) }
}

pub(super) fn judge_budget(case: &Case) -> Outcome {
    let whole = |data: &FragmentData, key: &str| {
        let number = entry(data, key).and_then(|number| json(number).as_f64())?;
        number.is_finite().then(|| number.max(0.0).floor() as u64)
    };
    let (input, recorded) = (case.input(), case.output());
    // The default window was used if none is given.
    let window = whole(input, "maxContextTokens").or_else(|| whole(recorded, "totalContextTokens"));
    let (Some(tokens), Some(window)) = (whole(input, "tokens"), window) else {
        return Outcome::Skipped("no tokens and no window".to_owned());
    };
    let budget = Budget::new(window, whole(input, "reservedOutputTokens").unwrap_or(0));
    let (ratio, pressure) = (budget.ratio(tokens), budget.pressure(tokens));
    let holds = match case.is_suspect() {
        true => {
            ratio.is_finite()
                && budget.input() >= 1
                && (ratio >= 0.9) == (pressure == Pressure::Full)
        }
        false => {
            let state = match text(recorded, "state") {
                Some("blocking") => Pressure::Full,
                Some("warning") => Pressure::Tight,
                _ => Pressure::Low,
            };
            let same = entry(recorded, "ratio").and_then(|ratio| json(ratio).as_f64());
            same.is_some_and(|same| (same - ratio).abs() < 1e-9)
                && state == pressure
                && whole(recorded, "maxContextTokens") == Some(budget.input())
                && whole(recorded, "totalContextTokens") == Some(budget.window)
                && whole(recorded, "maxOutputTokens") == Some(budget.reserve)
        }
    };
    let rule =
        if case.is_suspect() { "sound: a share of what fits, and its state" } else { "equal" };
    let ours = format!("{budget:?}: {ratio}, {pressure:?}");
    if holds {
        Outcome::Passed(rule.to_owned())
    } else {
        Outcome::Failed(Difference::new(rule, shown(recorded), ours))
    }
}
