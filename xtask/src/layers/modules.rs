//! Rule 6: the order of the top-level modules of a crate.
//!
//! A crate that lists its modules in `package.metadata.layers.modules` promises that each of them
//! imports only those before it. The check reads paths that begin with `crate::` or with as many
//! `super::` as lead to the root; a name that the root re-exports counts as one of its module.

use std::collections::BTreeMap;

use super::{Graph, Package, Violation};
use crate::source::{SourceFile, code};

/// Checks the order of the modules of every crate that lists them.
pub fn check_modules(graph: &Graph, files: &[SourceFile]) -> Vec<Violation> {
    graph.packages.iter().flat_map(|package| check_package(package, files)).collect()
}

fn check_package(package: &Package, files: &[SourceFile]) -> Vec<Violation> {
    let Some(order) = &package.modules else { return Vec::new() };
    let folder = format!("{}/src/", package.name);
    let root = format!("{folder}lib.rs");
    let own = files.iter().filter(|file| file.is_rust() && file.path.starts_with(&folder));
    let mut found = Vec::new();
    let Some(lib) = files.iter().find(|file| file.path == root) else { return found };
    let lib = code(&lib.text);
    let declared = modules(&lib);
    for name in declared.iter().filter(|name| !order.contains(name)) {
        let message = format!("{root} declares {name}, which has no place in the order of modules");
        found.push(Violation::new(6, message));
    }
    for name in order.iter().filter(|name| !declared.contains(name)) {
        let message =
            format!("{}: the order of modules has {name}, which is not there", package.name);
        found.push(Violation::new(6, message));
    }
    let names = exports(&lib, &declared);
    let place = |module: &str| order.iter().position(|name| name == module);
    for file in own.filter(|file| file.path != root && !file.is_test()) {
        let path: Vec<&str> =
            file.path[folder.len()..].trim_end_matches(".rs").split('/').collect();
        let Some(from) = place(path[0]) else { continue };
        for (line, name) in used(&code(&file.text), path.len()) {
            let to = names.get(&name).unwrap_or(&name);
            if place(to).is_some_and(|to| to > from) {
                let message =
                    format!("{}:{line} uses {to}, which comes after {}", file.path, path[0]);
                found.push(Violation::new(6, message));
            }
        }
    }
    found
}

/// Returns the modules that a root declares.
fn modules(lib: &str) -> Vec<String> {
    let declaration = |line: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';').map(String::from)
    };
    lib.lines().filter_map(declaration).collect()
}

/// Returns the names that a root re-exports, each with its module.
fn exports(lib: &str, modules: &[String]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for (at, keyword) in lib.match_indices("pub use ") {
        let tree = &lib[at + keyword.len()..];
        let tree = &tree[..tree.find(';').unwrap_or(tree.len())];
        for path in flatten(tree) {
            let first = path.iter().find(|part| !matches!(part.as_str(), "crate" | "self"));
            if let (Some(first), Some(last)) = (first, path.last())
                && modules.contains(first)
            {
                names.insert(last.clone(), first.clone());
            }
        }
    }
    names
}

/// Returns the first parts of the paths that begin at the root, each with its line. `depth` is the
/// number of `super::` that lead to the root.
fn used(code: &str, depth: usize) -> Vec<(usize, String)> {
    let to_root = "super::".repeat(depth);
    let mut found = Vec::new();
    for start in ["crate::", to_root.as_str()] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '$')) {
                continue;
            }
            let rest = &code[at + start.len()..];
            if rest.starts_with("super::") {
                continue;
            }
            let line = code[..at].lines().count().max(1);
            let firsts = flatten(tree(rest)).into_iter().filter_map(|path| path.into_iter().next());
            found.extend(firsts.map(|name| (line, name)));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the use tree at the beginning of `text`: a path, or braces and their contents.
fn tree(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return &text[..at + depth],
            '}' => depth -= 1,
            c if depth == 0 && !(c.is_alphanumeric() || matches!(c, '_' | ':')) => {
                return &text[..at];
            }
            _ => {}
        }
    }
    text
}

/// Returns the paths of a use tree, each in its parts; an alias is the last part.
fn flatten(tree: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for item in items(tree) {
        let (prefix, inner) = match item.split_once('{') {
            Some((prefix, inner)) => (prefix, inner.trim_end().strip_suffix('}')),
            None => (item, None),
        };
        let path = prefix.split(" as ").flat_map(|half| half.split("::"));
        let path: Vec<String> =
            path.map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect();
        match inner {
            Some(inner) => paths.extend(
                flatten(inner)
                    .into_iter()
                    .map(|rest| path.iter().cloned().chain(rest).collect::<Vec<_>>()),
            ),
            None if path.is_empty() => {}
            None => paths.push(path),
        }
    }
    paths
}

/// Returns the parts of a list that are separated by commas outside of braces.
fn items(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0_usize, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(list[start..].trim());
    found.retain(|item| !item.is_empty());
    found
}
