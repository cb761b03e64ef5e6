//! The tables of guarantees: every behaviour with the tests that show it.
//!
//! The tables must not go stale. So each row has to name a test, each named test has to exist in
//! the module that the row names, and each page has to be linked from the index page. Other
//! documentation pages with such a table are checked in the same way.

use std::collections::HashMap;

use crate::source::SourceFile;
use crate::tidy::Finding;

/// The index page.
const INDEX: &str = "docs/guarantees.md";

/// The folder of the other pages.
const FOLDER: &str = "docs/guarantees/";

/// The folder of the documentation.
const DOCS: &str = "docs/";

/// The heading of the column of tests.
const HEADING: &str = "shown by";

/// Returns the violations in the tables among the files, with their lines.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let pages: Vec<_> =
        files.iter().filter(|file| file.path.starts_with(DOCS) && !file.is_rust()).collect();
    if pages.is_empty() {
        return Vec::new();
    }
    let tests = functions(files);
    let mut found = Vec::new();
    for page in &pages {
        check_page(page, &tests, &mut found);
    }
    let index = pages.iter().find(|file| file.path == INDEX);
    for page in pages.iter().filter(|file| file.path.starts_with(FOLDER)) {
        let name = page.path.strip_prefix(DOCS).unwrap_or(&page.path);
        if !index.is_some_and(|index| index.text.contains(&format!("({name})"))) {
            let message = format!("{INDEX} has no link to it");
            found.push(Finding { path: page.path.clone(), line: 0, message });
        }
    }
    found
}

fn check_page(page: &SourceFile, tests: &HashMap<String, Vec<&str>>, found: &mut Vec<Finding>) {
    let mut in_table = false;
    for (n, line) in page.text.lines().enumerate() {
        let Some(row) = line.trim().strip_prefix('|').and_then(|row| row.strip_suffix('|')) else {
            in_table = false;
            continue;
        };
        let Some(last) = row.rsplit('|').next() else { continue };
        if last.trim() == HEADING {
            in_table = true;
            continue;
        }
        if !in_table || last.contains("---") {
            continue;
        }
        let mut report =
            |message| found.push(Finding { path: page.path.clone(), line: n + 1, message });
        let names: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            report("the row names no test".to_owned());
        }
        for name in names.into_iter().filter(|name| !exists(name, tests)) {
            report(format!("there is no test `{name}`"));
        }
    }
}

/// Whether a function of this name exists in a file or folder of the module that precedes the name.
fn exists(name: &str, tests: &HashMap<String, Vec<&str>>) -> bool {
    let mut parts = name.rsplit("::");
    let (function, module) = (parts.next().unwrap_or(name), parts.next());
    let Some(paths) = tests.get(function) else { return false };
    let within = |path: &str, module: &str| {
        path.trim_end_matches(".rs").split('/').any(|part| part == module)
    };
    module.is_none_or(|module| paths.iter().any(|path| within(path, module)))
}

/// Returns the names of all functions, tests included, and the files they are in.
fn functions(files: &[SourceFile]) -> HashMap<String, Vec<&str>> {
    let mut names: HashMap<String, Vec<&str>> = HashMap::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for line in file.text.lines() {
            let Some((_, rest)) = line.split_once("fn ") else { continue };
            let name: String =
                rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            names.entry(name).or_default().push(&file.path);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile::new(path, text)
    }

    #[track_caller]
    fn finds(files: &[SourceFile], expect: &[&str]) {
        assert_eq!(check(files).iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn every_row_names_a_test_that_exists() {
        let table = "# Guarantees\n\n| what | shown by |\n|---|---|\n| a | `here` |\n| b | `it::gone` |\n| c | none |\n";
        let files = [file(INDEX, table), file("a/tests/it/x.rs", "#[test]\nfn here() {}\n")];
        finds(
            &files,
            &[
                "docs/guarantees.md:6: there is no test `it::gone`",
                "docs/guarantees.md:7: the row names no test",
            ],
        );
    }

    #[test]
    fn a_test_is_in_the_module_it_is_said_to_be_in() {
        let table =
            "| what | shown by |\n|---|---|\n| a | `x::here`, `it::here` |\n| b | `y::here` |\n";
        let files = [file(INDEX, table), file("a/tests/it/x.rs", "#[test]\nfn here() {}\n")];
        finds(&files, &["docs/guarantees.md:4: there is no test `y::here`"]);
    }

    #[test]
    fn pages_are_found_from_the_index_and_other_tables_are_left_alone() {
        let index = "| family | page |\n|---|---|\n| stores | [stores](guarantees/stores.md) |\n";
        let page = "| limit | bytes |\n|---|---|\n| a | 1 |\n";
        let files = [
            file(INDEX, index),
            file("docs/guarantees/stores.md", page),
            file("docs/guarantees/new.md", "| what | shown by |\n|---|---|\n| a | `gone` |\n"),
        ];
        finds(
            &files,
            &[
                "docs/guarantees/new.md:3: there is no test `gone`",
                "docs/guarantees/new.md: docs/guarantees.md has no link to it",
            ],
        );
    }
}
