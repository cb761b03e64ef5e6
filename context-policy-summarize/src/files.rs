//! Files that tools read and changed, by the inputs of the calls.

use context_core::ToolCall;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The names of arguments that hold a path, compared without case and separators.
const ARGUMENTS: [&str; 11] = [
    "path",
    "paths",
    "file",
    "files",
    "filepath",
    "filename",
    "notebookpath",
    "targetfile",
    "absolutepath",
    "oldpath",
    "newpath",
];
/// Parts of the names of tools that change files.
const CHANGING: [&str; 12] = [
    "write", "edit", "create", "patch", "replace", "insert", "delete", "remove", "move", "rename",
    "update", "save",
];
/// The lines of a patch that name a file, as Codex's `apply_patch` writes them.
const PATCHED: [&str; 4] =
    ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
/// A longer path is no path.
const LONGEST: usize = 300;

/// A file that a tool read or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CarriedFile {
    /// The path, as the call wrote it.
    pub path: String,
    /// Whether a tool changed the file, rather than only reading it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
}

/// Returns the files that a call names.
pub(crate) fn files_of(call: &ToolCall) -> Vec<CarriedFile> {
    let Ok(Value::Object(input)) = call.input.parse::<Value>() else { return Vec::new() };
    let name = plain(&call.name);
    let changed = CHANGING.iter().any(|word| name.contains(word));
    let mut paths: Vec<String> = Vec::new();
    for (key, value) in &input {
        match value {
            Value::String(text) if ARGUMENTS.contains(&&*plain(key)) => paths.push(text.clone()),
            Value::Array(items) if ARGUMENTS.contains(&&*plain(key)) => {
                paths.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            Value::String(text) if changed => {
                let named = |line: &str| {
                    PATCHED.iter().find_map(|start| line.strip_prefix(start)).map(str::to_owned)
                };
                paths.extend(text.lines().filter_map(named));
            }
            _ => {}
        }
    }
    let is_path = |path: &String| {
        let path = path.trim();
        !path.is_empty() && path.len() <= LONGEST && !path.contains(char::is_control)
    };
    paths
        .into_iter()
        .filter(is_path)
        .map(|path| CarriedFile { path: path.trim().to_owned(), changed })
        .collect()
}

/// Returns a name without case and separators.
pub(crate) fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
