//! The table of guarantees: every behaviour beside the test that shows it.
//!
//! A table like that is believed as long as nobody looks. So each test it names has to exist, and each row has to name one.

use std::collections::HashSet;

use crate::source::SourceFile;

/// The table.
pub(crate) const FILE: &str = "docs/guarantees.md";

/// What stands over the column of tests.
const HEADING: &str = "shown by";

/// What is wrong in which line of the table, if it is among the files.
pub(crate) fn check(files: &[SourceFile]) -> Vec<(usize, String)> {
    let Some(table) = files.iter().find(|file| file.path == FILE) else { return Vec::new() };
    let functions = functions(files);
    let mut found = Vec::new();
    for (n, line) in table.text.lines().enumerate() {
        let Some(row) = line.trim().strip_prefix('|').and_then(|row| row.strip_suffix('|')) else { continue };
        let Some(last) = row.rsplit('|').next() else { continue };
        if last.contains("---") || last.trim() == HEADING {
            continue;
        }
        let names: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
        let mut report = |what: String| found.push((n + 1, what));
        if names.is_empty() {
            report("the row names no test".to_owned());
        }
        for name in names {
            let function = name.rsplit("::").next().unwrap_or(name);
            if !functions.contains(function) {
                report(format!("there is no test `{name}`"));
            }
        }
    }
    found
}

/// The names of all functions, which tests are.
fn functions(files: &[SourceFile]) -> HashSet<String> {
    let mut names = HashSet::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for line in file.text.lines() {
            let Some((_, rest)) = line.split_once("fn ") else { continue };
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            names.insert(name);
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

    #[test]
    fn every_row_names_a_test_that_exists() {
        let table = "# Guarantees\n\n| what | shown by |\n|---|---|\n| a | `here` |\n| b | `it::gone` |\n| c | none |\n";
        let files = [file(FILE, table), file("a/tests/it/x.rs", "#[test]\nfn here() {}\n")];
        let gone = (6, "there is no test `it::gone`".to_owned());
        assert_eq!(check(&files), [gone, (7, "the row names no test".to_owned())]);
    }
}
