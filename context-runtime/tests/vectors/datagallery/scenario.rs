//! Kind `scenario`: a sequence of operations on one process, with a folder as its disk. Kind
//! `infer`: the table of edges.

use context_runtime::trajectory::{NodeTitle, TrajectoryNodeKind, edge};
use serde_json::{Map, Value, json};

use super::world::{Form, OPERATIONS, World};
use super::{Case, same};
use crate::judge::{Difference, Outcome};

/// Compares every type in the table with its recorded value.
pub(crate) fn judge_infer(case: &Case) -> Outcome {
    let kind_of = |id: &Value| id.as_str()?.parse::<NodeTitle>().ok().map(|title| title.kind);
    let before: Option<Vec<TrajectoryNodeKind>> =
        case.input["predecessors"].as_array().map(|ids| ids.iter().filter_map(kind_of).collect());
    let Some(before) = before else {
        return Outcome::Skipped("no list of predecessors".to_owned());
    };
    let inferred = |name: &Value| {
        let name = name.as_str()?;
        let edge = TrajectoryNodeKind::from_name(name).and_then(|kind| edge::infer(&before, kind));
        Some((
            name.to_owned(),
            json!(edge.map_or_else(|error| format!("!{}", error.code()), str::to_owned)),
        ))
    };
    let kinds = case.input["current_types"].as_array();
    let ours: Map<String, Value> = kinds.into_iter().flatten().filter_map(inferred).collect();
    if case.suspect {
        // Nothing can be inferred without predecessors.
        let refused = ours.values().all(|name| name == UNNAMED);
        let sound = !before.is_empty() || refused;
        let difference =
            || Difference::new("nothing is inferred of nothing", "all refused", json!(ours));
        return Outcome::of(
            sound.then(|| "nothing is inferred of nothing".to_owned()).ok_or_else(difference),
        );
    }
    // The other system has data named always. Where it infers a name, ours must be the same.
    let only_more = |expected: &Value| {
        let names = expected.as_object();
        names.is_some_and(|names| names.len() == ours.len())
            && ours.iter().all(|(kind, name)| {
                expected[kind] == *name || expected[kind] == UNNAMED && is_data_edge(name)
            })
    };
    let equal = case.equal(&Value::Object(ours.clone()));
    if equal.is_err() && case.expected.iter().any(only_more) {
        return Outcome::of(Ok("equal, and edges to data are inferred".to_owned()));
    }
    Outcome::of(equal)
}

/// The recorded value of an edge whose name cannot be inferred.
const UNNAMED: &str = "!edge_type_required";

fn is_data_edge(name: &Value) -> bool {
    let names = [edge::PRODUCES, edge::HAS_ADDITIONAL_FILE, edge::HAS_ADDITIONAL_TABLE];
    name.as_str().is_some_and(|name| names.contains(&name))
}

/// The allowed keys beside the name of an operation.
const KNOWN: &[&str] = &[
    "add_pt",
    "bytes",
    "changes",
    "content",
    "count",
    "desc",
    "edge",
    "fields",
    "file",
    "files",
    "item",
    "label",
    "name",
    "params",
    "path",
    "pred",
    "remove_pt",
    "text",
    "to",
];

pub(crate) fn judge_scenario(case: &Case) -> Outcome {
    let mut names = case
        .input
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .flat_map(Map::keys);
    if let Some(unknown) =
        names.find(|name| !KNOWN.contains(&name.as_str()) && !OPERATIONS.contains(&name.as_str()))
    {
        return Outcome::Skipped(format!("an operation that nobody here knows: {unknown}"));
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Outcome::of(Err(Difference::new("a runtime", "one", error))),
    };
    Outcome::of(runtime.block_on(judge(case)))
}

async fn judge(case: &Case) -> Result<String, Difference> {
    let none = Vec::new();
    let operations = case.input.as_array().unwrap_or(&none);
    let mut first = None;
    // Each generation formats the same values differently.
    let forms = [Form::Newest, Form::Seed];
    for (expected, form) in case.expected.iter().zip(forms) {
        let mut world =
            World::new(form).map_err(|error| Difference::new("a world", "one", error))?;
        let mut results = Vec::with_capacity(operations.len());
        for operation in operations {
            results.push(world.run(operation).await);
        }
        let ours = json!({ "results": results, "final": world.picture().await });
        if case.suspect {
            return sound(&mut world, operations, &results).await;
        }
        if same(expected, &ours) {
            return Ok("equal".to_owned());
        }
        if infers_more(&expected["results"], operations, &results) {
            return sound(&mut world, operations, &results).await;
        }
        first.get_or_insert_with(|| {
            let shown = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
            Difference::new("equal", shown(expected), shown(&ours))
        });
    }
    Err(first.unwrap_or_else(|| Difference::new("equal", "something recorded", "nothing")))
}

/// Returns whether the first difference is data without an edge name, which the other system
/// refuses. Everything after it may differ too.
fn infers_more(expected: &Value, operations: &[Value], ours: &[Value]) -> bool {
    let recorded = expected.as_array().into_iter().flatten();
    let first = recorded.zip(operations).zip(ours).find(|((recorded, _), ours)| recorded != ours);
    first.is_some_and(|((recorded, operation), ours)| {
        recorded["err"] == "edge_type_required"
            && operation["node"].is_string()
            && operation["node"] != "Response"
            && operation["edge"].is_null()
            && ours.get("ok").is_some()
    })
}

/// Checks invariants after any operations: a refusal changes nothing, acknowledged writes are on
/// disk, the graph is connected and acyclic, and queries of it agree.
async fn sound(
    world: &mut World,
    operations: &[Value],
    results: &[Value],
) -> Result<String, Difference> {
    let broken = |rule: &str, ours: String| Err(Difference::new(rule, "so", ours));
    if let Some(problem) = world.problems().first() {
        return broken("a refusal changes nothing, a success is on disk", problem.clone());
    }
    for (operation, result) in operations.iter().zip(results) {
        let Some((name, _)) = operation.as_object().and_then(|operation| operation.iter().next())
        else {
            continue;
        };
        let claims = ["acyclic", "connected", "file_is_valid_json"].contains(&name.as_str());
        if claims && result["ok"] == false {
            return broken(
                "the graph is acyclic and connected, files are whole",
                format!("{name}: {result}"),
            );
        }
        if let Some(code) = result["err"]
            .as_str()
            .filter(|code| code.starts_with("internal") || *code == "unknown_operation")
        {
            return broken("errors are typed", format!("{name}: {code}"));
        }
    }
    if let Some(problem) = world.after_restart().await.into_iter().next() {
        return broken("after a restart everything is there, in one graph without cycles", problem);
    }
    Ok("sound: refusals change nothing, what was done is there after a restart, one graph without cycles"
        .to_owned())
}
