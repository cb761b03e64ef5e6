//! Suite `datagallery`: trajectories and messages of agent runs, one per case, of several kinds.
//!
//! | kind | tested function | how a plain case is judged |
//! |---|---|---|
//! | `clean` | `clean` with removal | the same messages stay |
//! | `format` | `format_context` | the same text |
//! | `record` | `to_records`, `to_messages` | the same stored form, and a stored message reads back unchanged |
//! | `load` | `import_messages`, then `clean` | the same messages |
//! | `rounds` | `round_statistics` | the same numbers |
//! | `infer` | `edge::infer` | the same names and refusals, except that edges to data may be inferred |
//! | `scenario` | `Trajectories` over a `FileChannel`, any name for edges | the same results, and the same final graph |
//!
//! The other system wants every edge to data named, and ours infers the clear ones. A scenario that
//! records such a refusal passes if everything before it is equal and the result is sound.
//!
//! Two generations are recorded, `expect` and `seed_era`. Agreeing with either passes. A case with
//! `suspect: true` records a fault of the other system: our result must be sound, and each judge
//! names its rule.

mod messages;
mod scenario;
mod soundness;
mod typed;
mod world;

use context_runtime::FragmentData;
use serde_json::Value;

use crate::File;
use crate::encoding::{entry, flag, text};
use crate::judge::{BoxError, Difference, Judged, Outcome};

/// A case.
struct Case {
    input: Value,
    /// The recorded results, newest first.
    expected: Vec<Value>,
    suspect: bool,
}

impl Case {
    fn new(data: &FragmentData) -> Self {
        let part = |key: &str| entry(data, key).map(json).unwrap_or_default();
        let expect = part("expect");
        let expected = match part("seed_era") {
            Value::String(_) | Value::Null => vec![expect],
            older => vec![expect, older],
        };
        Self { input: part("input"), expected, suspect: flag(data, "suspect") }
    }

    /// Passes if our result equals that of any generation.
    fn equal(&self, ours: &Value) -> Result<String, Difference> {
        if self.expected.iter().any(|expected| same(expected, ours)) {
            return Ok("equal".to_owned());
        }
        let shown = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
        Err(Difference::new("equal", shown(&self.expected[0]), shown(ours)))
    }
}

pub(crate) fn judge(file: &File<'_>) -> Result<Vec<Judged>, BoxError> {
    let judged = file.cases()?.into_iter().map(|data| {
        let id = text(&data, "id").unwrap_or("without id").to_owned();
        Judged { id, outcome: judge_case(&data) }
    });
    Ok(judged.collect())
}

fn judge_case(data: &FragmentData) -> Outcome {
    let case = Case::new(data);
    match text(data, "kind").unwrap_or_default() {
        "clean" => messages::judge_clean(&case),
        "format" => messages::judge_format(&case),
        "record" => messages::judge_record(&case),
        "load" => messages::judge_load(&case),
        "rounds" => messages::judge_rounds(&case),
        "infer" => scenario::judge_infer(&case),
        "scenario" => scenario::judge_scenario(&case),
        kind => Outcome::Skipped(format!("an unknown kind: {kind}")),
    }
}

/// Converts a value to plain JSON.
fn json(data: &FragmentData) -> Value {
    serde_json::to_value(data).unwrap_or_default()
}

/// Whether two values are equal, with 1 equal to 1.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        (a, b) => a == b,
    }
}
