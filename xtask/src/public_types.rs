//! Public types: no two have the same name, so that a name in an error or on a page means one type.

use std::collections::BTreeMap;

use crate::source::{SourceFile, code};
use crate::tidy::Finding;

/// The words that begin the definition of a public type.
const DEFINITIONS: [&str; 4] = ["pub struct ", "pub enum ", "pub trait ", "pub type "];

/// Finds public types of the workspace's libraries that have the name of an earlier one. Examples
/// and tasks are programs, so their names are not compared.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    let mut found = Vec::new();
    for file in files.iter().filter(|file| is_of_a_library(&file.path)) {
        for (n, line) in code(&file.text).lines().enumerate() {
            let Some(name) = defined(line) else { continue };
            match first.get(name) {
                Some(place) => found.push(Finding {
                    path: file.path.clone(),
                    line: n + 1,
                    message: format!("{place} has a public type `{name}` as well"),
                }),
                None => {
                    first.insert(name.to_owned(), file.path.clone());
                }
            }
        }
    }
    found
}

fn is_of_a_library(path: &str) -> bool {
    path.starts_with("context-") && path.contains("/src/") && path.ends_with(".rs")
}

/// Returns the name that a line defines at the top level of a module.
fn defined(line: &str) -> Option<&str> {
    let rest = DEFINITIONS.iter().find_map(|begin| line.strip_prefix(begin))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(&rest[..end])
}
