//! The tables of guarantees: every behaviour with the tests that show it.
//!
//! The tables must not go stale. So each row has to name a test, each named test has to exist in
//! the module that the row names, and each page has to be linked from the index page. Other
//! documentation pages with such a table are checked in the same way.
//!
//! In a table of features, a row with `no` gives a reason in place of a test, and a row may name a
//! command. The page states how many rows of a section have which value.

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

/// The heading of that column in a table of features. The column before it has one of [`VALUES`].
const FEATURES_HEADING: &str = "shown by, or why not";

/// The beginnings of commands that a row of features may name in place of a test.
const COMMANDS: [&str; 2] = ["cargo xtask ", "context "];

/// The values of a feature.
const VALUES: [&str; 3] = ["yes", "partly", "no"];

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
    let mut heading = None;
    let mut counts = [0; VALUES.len()];
    let mut report = |line, message| found.push(Finding { path: page.path.clone(), line, message });
    for (n, line) in page.text.lines().enumerate() {
        if line.starts_with("## ") {
            check_counts(page, std::mem::take(&mut counts), &mut report);
        }
        let Some(row) = line.trim().strip_prefix('|').and_then(|row| row.strip_suffix('|')) else {
            heading = None;
            continue;
        };
        let mut cells = row.rsplit('|');
        let Some(last) = cells.next() else { continue };
        if [HEADING, FEATURES_HEADING].contains(&last.trim()) {
            heading = Some(last.trim());
            continue;
        }
        if heading.is_none() || last.contains("---") {
            continue;
        }
        let of_features = heading == Some(FEATURES_HEADING);
        let value = cells.next().unwrap_or_default().trim();
        match VALUES.iter().position(|known| *known == value) {
            _ if !of_features => {}
            Some(known) => counts[known] += 1,
            None => report(n + 1, format!("`{value}` is none of {VALUES:?}")),
        }
        let is_command =
            |name: &&str| of_features && COMMANDS.iter().any(|command| name.starts_with(command));
        let needs_no_test = of_features && value == "no" && !last.trim().is_empty();
        let names: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
        if names.is_empty() && !needs_no_test {
            report(n + 1, "the row names no test".to_owned());
        }
        for name in names.into_iter().filter(|name| !is_command(name) && !exists(name, tests)) {
            report(n + 1, format!("there is no test `{name}`"));
        }
    }
    check_counts(page, counts, &mut report);
}

/// Checks that a page states the counts of a section with features.
fn check_counts(
    page: &SourceFile,
    counts: [usize; VALUES.len()],
    report: &mut impl FnMut(usize, String),
) {
    let [yes, partly, no] = counts;
    let stated = format!("{} rows: {yes} yes, {partly} partly, {no} no", yes + partly + no);
    if counts != [0; VALUES.len()] && !page.text.contains(&stated) {
        report(0, format!("the page does not say `{stated}`"));
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
    fn a_feature_has_a_test_a_command_or_a_reason_and_is_counted() {
        let page = "2 rows: 2 yes, 0 partly, 0 no\n\n## A\n\n\
            | feature | ours | shown by, or why not |\n|---|---|---|\n\
            | a | yes | `it::here`; a remark |\n| b | yes | `cargo xtask tidy` |\n\n## B\n\n\
            | feature | ours | shown by, or why not |\n|---|---|---|\n\
            | c | no | a reason |\n| d | partly | a reason |\n| e | no | `it::gone` |\n\
            | f | maybe | `it::here` |\n";
        let files =
            [file("docs/features.md", page), file("a/tests/it/x.rs", "#[test]\nfn here() {}\n")];
        finds(
            &files,
            &[
                "docs/features.md:15: the row names no test",
                "docs/features.md:16: there is no test `it::gone`",
                "docs/features.md:17: `maybe` is none of [\"yes\", \"partly\", \"no\"]",
                "docs/features.md: the page does not say `3 rows: 0 yes, 1 partly, 2 no`",
            ],
        );
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
