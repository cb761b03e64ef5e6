//! The rules about what is in a package: a registry's fields, the licence texts, the README, code,
//! and nothing else.
//!
//! [`check`] is a pure function over the files of a packed crate, so that a test can show what each
//! rule finds. The manifest among them is the one that cargo wrote for the registry.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::source::SourceFile;
use crate::tidy::machine_folder;
use crate::workspace::PREFIX;

/// The files at the top of a package.
const FILES: [&str; 7] = [
    ".cargo_vcs_info.json",
    "Cargo.lock",
    "Cargo.toml",
    "Cargo.toml.orig",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
];
/// The folders of a package.
const FOLDERS: [&str; 2] = ["migrations", "src"];
/// The endings of files in them. A snapshot or a recording of a test has another one.
const ENDINGS: [&str; 9] = ["css", "forms", "js", "json", "lua", "rs", "sh", "sql", "txt"];
/// The longest file. Data of this size does not belong into a package by accident.
const MAX_BYTES: usize = 256 * 1024;

/// The fields that a registry shows or asks for.
const FIELDS: [&str; 9] = [
    "categories",
    "description",
    "edition",
    "keywords",
    "license",
    "readme",
    "repository",
    "rust-version",
    "version",
];
/// The registry's categories that a package of ours may be in. The registry drops one that it does
/// not know, without an error.
const CATEGORIES: [&str; 16] = [
    "algorithms",
    "api-bindings",
    "caching",
    "command-line-utilities",
    "cryptography",
    "data-structures",
    "database",
    "database-implementations",
    "development-tools::testing",
    "encoding",
    "parser-implementations",
    "simulation",
    "text-processing",
    "visualization",
    "web-programming::http-client",
    "web-programming::http-server",
];
/// The registry's limits: keywords and categories of a package, characters of a keyword.
const MAX_WORDS: usize = 5;
const MAX_KEYWORD: usize = 20;

/// Returns one sentence for each thing that is wrong with a package. `packages` are the names of
/// all packages of ours that are packed.
pub fn check(files: &[SourceFile], packages: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    for required in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"] {
        if !files.iter().any(|file| file.path == required) {
            found.push(format!("{required} is missing"));
        }
    }
    for file in files {
        check_file(file, &mut found);
    }
    let manifest = files.iter().find(|file| file.path == "Cargo.toml");
    match manifest.map(|file| file.text.parse::<Table>()) {
        Some(Ok(manifest)) => check_manifest(&manifest, packages, &mut found),
        Some(Err(error)) => found.push(format!("Cargo.toml: {error}")),
        None => found.push("Cargo.toml is missing".to_owned()),
    }
    found
}

fn check_file(SourceFile { path, text }: &SourceFile, found: &mut Vec<String>) {
    let belongs = match path.split_once('/') {
        None => FILES.contains(&path.as_str()),
        Some((folder, rest)) => {
            let ending = rest.rsplit_once('.').map(|(_, ending)| ending);
            FOLDERS.contains(&folder) && ending.is_some_and(|ending| ENDINGS.contains(&ending))
        }
    };
    if !belongs {
        found.push(format!("{path} does not belong into a package"));
    }
    if text.len() > MAX_BYTES {
        found.push(format!("{path} has {} bytes; {MAX_BYTES} is the most", text.len()));
    }
    // Where a checkout has no symbolic links, the text is the path of the real file.
    if path.starts_with("LICENSE-") && text.lines().count() < 10 {
        found.push(format!("{path} is not the text of a licence"));
    }
    for (n, line) in text.lines().enumerate() {
        if let Some(folder) = machine_folder(line) {
            found.push(format!("{path}:{}: a path on somebody's machine, /{folder}/", n + 1));
        }
    }
}

fn check_manifest(manifest: &Table, packages: &BTreeSet<String>, found: &mut Vec<String>) {
    let empty = Table::new();
    let package = manifest.get("package").and_then(Value::as_table).unwrap_or(&empty);
    for field in FIELDS.iter().filter(|field| !package.contains_key(**field)) {
        found.push(format!("Cargo.toml has no `{field}`"));
    }
    let words = |field: &str| -> Vec<&str> {
        let list = package.get(field).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).collect()
    };
    for (field, list) in [("keywords", words("keywords")), ("categories", words("categories"))] {
        if list.len() > MAX_WORDS {
            found.push(format!("{} {field}; {MAX_WORDS} is the most", list.len()));
        }
    }
    for keyword in words("keywords") {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if keyword.len() > MAX_KEYWORD || !keyword.chars().all(is_plain) {
            found.push(format!("the registry takes no keyword {keyword:?}"));
        }
    }
    for category in words("categories") {
        if !CATEGORIES.contains(&category) {
            found.push(format!("the category {category:?} is not in the list of this task"));
        }
    }
    let docs = package.get("metadata").and_then(|metadata| metadata.get("docs")?.get("rs"));
    let all_features = docs.and_then(|docs| docs.get("all-features")).and_then(Value::as_bool);
    if manifest.contains_key("features") && all_features != Some(true) {
        found.push("docs.rs would not show what is behind features".to_owned());
    }
    for (name, dependency) in dependencies(manifest) {
        check_dependency(name, dependency, packages, found);
    }
}

/// Returns the dependencies of all kinds and targets, with their keys.
fn dependencies(manifest: &Table) -> Vec<(&String, &Value)> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let places = targets.filter_map(|(_, target)| target.as_table()).chain([manifest]);
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let tables = places.flat_map(|place| kinds.map(|kind| place.get(kind)));
    tables.flatten().filter_map(Value::as_table).flatten().collect()
}

fn check_dependency(
    name: &str,
    dependency: &Value,
    packages: &BTreeSet<String>,
    found: &mut Vec<String>,
) {
    let field = |field| dependency.get(field).and_then(Value::as_str);
    if dependency.as_str().or(field("version")).is_none_or(|version| version == "*") {
        found.push(format!("the dependency {name} has no version"));
    }
    if field("path").or(field("git")).is_some() {
        found.push(format!("the dependency {name} is not taken from a registry"));
    }
    let package = field("package").unwrap_or(name);
    if package.starts_with(PREFIX) && !packages.contains(package) {
        found.push(format!("{package} is not published"));
    }
}
