//! Suite `deepagents-engine`: scenarios of the engine and its store.
//!
//! A plain case must give at each step the result of either recorded generation. For errors only
//! their presence is compared. A suspect case must be sound, see [`soundness`](crate::soundness). A
//! case is skipped if it needs abilities that are missing: those it names, and unknown operations
//! and items.

use serde_json::Value;

use crate::File;
use crate::judge::{BoxError, Difference, Judged, Outcome};
use crate::peer::{OperationResult, World};
use crate::soundness::SoundnessCheck;

/// The abilities that are available to cases.
const ABILITIES: [&str; 7] =
    ["renderers", "builders", "reminders", "lazy-data", "tokens", "stream-store", "graph-text"];

pub(crate) fn judge(file: &File<'_>) -> Result<Vec<Judged>, BoxError> {
    let recorded: Value = serde_json::from_str(file.text)?;
    let cases = recorded["cases"].as_array().ok_or("the file has no list of cases")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let judged = cases.iter().map(|case| {
        let id = case["id"].as_str().unwrap_or("(no id)").to_owned();
        Ok(Judged { id, outcome: runtime.block_on(judge_case(case))? })
    });
    judged.collect()
}

async fn judge_case(case: &Value) -> Result<Outcome, BoxError> {
    if case["skip"] == Value::Bool(true) {
        return Ok(Outcome::Skipped(case["ours"].as_str().unwrap_or("not to be run").into()));
    }
    let needs = case["needs"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<_> = needs.filter(|need| !ABILITIES.contains(need)).collect();
    if !missing.is_empty() {
        return Ok(Outcome::Skipped(format!("needs {}", missing.join(", "))));
    }
    let suspect = case["suspect"] == Value::Bool(true);
    let mut world = World::new().await?;
    let mut watch = SoundnessCheck::default();
    for (n, step) in case["steps"].as_array().into_iter().flatten().enumerate() {
        let op = &step["op"];
        let at = || format!("step {} {op}", n + 1);
        watch.before(&world, op).await?;
        let given = world.apply(op).await;
        if let OperationResult::Missing(what) = &given {
            if finds_nothing(step) {
                continue;
            }
            return Ok(Outcome::Skipped(format!("not known: {what}")));
        }
        let checked = match suspect {
            true => watch.after(&world, op, &given).await?,
            false => check_equal(step, &given),
        };
        if let Err(difference) = checked {
            return Ok(Outcome::Failed(difference.at(at())));
        }
    }
    Ok(Outcome::Passed(if suspect { watch.rules() } else { "equal at each step".into() }))
}

/// Whether the recorded answer to a step is an empty list, which needs no ability.
fn finds_nothing(step: &Value) -> bool {
    step["result"].as_array().is_some_and(Vec::is_empty)
}

/// An allowed result of a step: a value, or an error with any text.
enum Allowed<'a> {
    Value(&'a Value),
    Error(&'a str),
}

impl Allowed<'_> {
    fn has(&self, given: &OperationResult) -> bool {
        match (self, given) {
            (Self::Value(value), OperationResult::Value(ours)) => *value == ours,
            (Self::Error(_), OperationResult::Error(_)) => true,
            _ => false,
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Value(value) => value.to_string(),
            Self::Error(text) => format!("an error, such as: {text}"),
        }
    }
}

fn check_equal(step: &Value, given: &OperationResult) -> Result<(), Difference> {
    let allowed = allowed(step);
    if allowed.iter().any(|allowed| allowed.has(given)) {
        return Ok(());
    }
    let expected: Vec<_> = allowed.iter().map(Allowed::show).collect();
    let ours = match given {
        OperationResult::Value(value) => value.to_string(),
        OperationResult::Error(error) => format!("error: {error}"),
        OperationResult::Missing(operation) => format!("not known: {operation}"),
    };
    Err(Difference::new("equal", expected.join("\nor\n"), ours))
}

/// Returns the results of both generations, except one that only reports a missing ability.
fn allowed(step: &Value) -> Vec<Allowed<'_>> {
    let mut allowed = Vec::new();
    match step["error"].as_str() {
        Some(text) => allowed.push(Allowed::Error(text)),
        None => allowed.push(Allowed::Value(&step["result"])),
    }
    if let Some(head) = step.get("head") {
        // A value may have an `error` among its fields.
        let error =
            head["error"].as_str().filter(|_| head.as_object().is_some_and(|head| head.len() == 1));
        allowed.push(error.map_or(Allowed::Value(head), Allowed::Error));
    }
    allowed.retain(|one| !matches!(one, Allowed::Error(text) if text.starts_with("unsupported")));
    allowed
}
