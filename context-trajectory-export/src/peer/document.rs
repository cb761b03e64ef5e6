//! Parsing the two files: graph and pointers.

use context_core::Json;
use context_core::base::JsonMap;

use super::finding::Problem;
use super::text::without_nan;

/// A graph in node-link form with unparsed items.
pub(super) struct Graph {
    pub(super) nodes: Vec<Json>,
    pub(super) edges: Vec<Json>,
}

/// Pointers into a graph.
#[derive(Default)]
pub(super) struct Pointers {
    pub(super) query: Option<String>,
    pub(super) ends: Vec<String>,
}

/// Reads a graph of either version.
pub(super) fn read_graph(text: &str, report: &mut impl FnMut(Problem)) -> Result<Graph, Problem> {
    let mut map = read_object(text, report).map_err(|reason| Problem::Unreadable { reason })?;
    let mut list = |name: &str| match map.shift_remove(name) {
        None => Ok(None),
        Some(json) => json
            .parse::<Vec<Json>>()
            .map(Some)
            .map_err(|_| Problem::Unreadable { reason: format!("{name} is not a list") }),
    };
    let nodes =
        list("nodes")?.ok_or_else(|| Problem::Unreadable { reason: "it has no nodes".into() })?;
    let (newer, older) = (list("edges")?, list("links")?);
    let edges = newer.into_iter().chain(older).flatten().collect();
    for (name, value) in map {
        let usual = match name.as_str() {
            "directed" => value.as_str() == "true",
            "multigraph" => value.as_str() == "false",
            "graph" => value.compact().as_str() == "{}",
            _ => false,
        };
        if !usual {
            report(Problem::UnknownEntry { name, value });
        }
    }
    Ok(Graph { nodes, edges })
}

/// Reads pointers. Entries that cannot be read are skipped and reported.
pub(super) fn read_pointers(text: &str, report: &mut impl FnMut(Problem)) -> Pointers {
    let map = match read_object(text, report) {
        Ok(map) => map,
        Err(reason) => {
            report(Problem::BadPointers { reason });
            return Pointers::default();
        }
    };
    let mut pointers = Pointers::default();
    for (name, value) in map {
        let known = match name.as_str() {
            "initial_pt" => {
                value.parse::<Option<String>>().map(|query| pointers.query = query).is_ok()
            }
            "current_pt" => value.parse::<Vec<String>>().map(|ends| pointers.ends = ends).is_ok(),
            "messages" => value.compact().as_str() == "{}",
            _ => false,
        };
        if !known {
            report(Problem::UnknownEntry { name, value });
        }
    }
    pointers
}

fn read_object(text: &str, report: &mut impl FnMut(Problem)) -> Result<JsonMap, String> {
    // The file may start with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let error = match serde_json::from_str(text) {
        Ok(map) => return Ok(map),
        Err(error) => error,
    };
    let (text, count) = without_nan(text);
    let map = serde_json::from_str(&text).map_err(|_| error.to_string())?;
    report(Problem::NotNumbers { count });
    Ok(map)
}
