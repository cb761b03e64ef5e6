//! Tests that a call of `cargo test` ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::Result;

use super::{cargo_args, is, packages};
use crate::source;

/// The beginning of the reason if a test only needs something: `needs Redis and test data; …`.
const NEEDS: &str = "needs ";

/// The ignored tests of some calls, by reason.
#[derive(Debug, Default)]
pub(super) struct Ignored(BTreeMap<String, Vec<String>>);

impl Ignored {
    /// Takes in a line of the output.
    pub(super) fn read(&mut self, line: &str) {
        if let Some((test, reason)) = ignored_test(line) {
            self.0.entry(reason.to_owned()).or_default().push(test.to_owned());
        }
    }

    /// Takes out the tests that can run here after all. Returns the arguments of a call that runs
    /// them, or `None` if there are none. `programs` are the arguments that select the programs of
    /// such tests, since a program with a `main` of its own takes one name only. `has` says whether
    /// something that tests need is there.
    pub(super) fn second_call(
        &mut self,
        given: &[String],
        programs: &BTreeSet<String>,
        has: impl Fn(&str) -> bool,
    ) -> Option<Vec<String>> {
        // Whoever gives arguments to the test programs has chosen the tests.
        if given.iter().any(|arg| arg == "--") {
            return None;
        }
        let can_run = |reason: &str| {
            let needs = reason.strip_prefix(NEEDS).and_then(|rest| rest.split(';').next());
            needs.is_some_and(|needs| needs.split(" and ").all(&has))
        };
        let tests: Vec<String> = self
            .0
            .extract_if(.., |reason, _| can_run(reason))
            .flat_map(|(_, tests)| tests)
            .collect();
        if tests.is_empty() {
            return None;
        }
        let chooses = |arg: &String| {
            ["--lib", "--bins", "--tests", "--all-targets"].contains(&arg.as_str())
                || arg.starts_with("--test")
                || arg.starts_with("--bin")
        };
        let mut call = cargo_args(given);
        if !given.iter().any(chooses) {
            call.extend(programs.iter().cloned());
        }
        call.extend(["--", "--ignored", "--exact"].map(String::from));
        call.extend(tests);
        Some(call)
    }

    /// Adds the tests of other calls.
    pub(super) fn extend(&mut self, other: Self) {
        for (reason, tests) in other.0 {
            self.0.entry(reason).or_default().extend(tests);
        }
    }
}

/// Returns the arguments of cargo that select the test programs of a workspace in which a test is
/// ignored because it needs something.
pub(super) fn programs(root: &Path, given: &[String]) -> Result<BTreeSet<String>> {
    let named = packages(given);
    let mark = format!("#[ignore = \"{NEEDS}");
    let mut found = BTreeSet::new();
    for file in source::files(root)? {
        let Some((folder, rest)) = file.path.split_once('/') else { continue };
        let is_named = named.is_empty() || named.iter().any(|spec| is(spec, folder));
        if !is_named || !file.is_rust() || !file.text.contains(&mark) {
            continue;
        }
        if rest.starts_with("src/") {
            found.insert("--lib".to_owned());
        } else if let Some(program) = rest.strip_prefix("tests/") {
            let program = program.split(['/', '.']).next().unwrap_or_default();
            found.insert(format!("--test={program}"));
        }
    }
    Ok(found)
}

/// Writes a line for each reason, with the number of tests.
impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (reason, tests) in &self.0 {
            writeln!(f, "ignored: {} × {reason}", tests.len())?;
        }
        Ok(())
    }
}

/// Returns the name of the test and the reason if a line reports that it was ignored. The standard
/// harness writes the reason after a comma, the one of our test programs in parentheses.
fn ignored_test(line: &str) -> Option<(&str, &str)> {
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let reason = outcome.strip_prefix("ignored")?;
    let reason = reason
        .strip_prefix(", ")
        .or_else(|| reason.strip_prefix(" (").and_then(|reason| reason.strip_suffix(')')));
    Some((name.trim_end(), reason.unwrap_or("no reason")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Ignored, ignored_test, programs};

    fn words(given: &str) -> Vec<String> {
        given.split_whitespace().map(String::from).collect()
    }

    fn read() -> Ignored {
        let mut ignored = Ignored::default();
        for line in [
            "test scale::a ... ignored, needs PostgreSQL; `cargo xtask test` runs it",
            "test both::b ... ignored, needs PostgreSQL and Redis; `cargo xtask test` runs it",
            "test data::c ... ignored, needs test data; `cargo xtask test` runs it",
            "test large_d ... ignored, long; `cargo xtask ci --long` runs it",
            "test life::e     ... ignored (X is not set)",
            "test fine ... ok",
        ] {
            ignored.read(line);
        }
        ignored
    }

    #[test]
    fn an_ignored_test_is_found_in_the_output() {
        let line = "test a::b ... ignored, needs Redis; run it";
        assert_eq!(ignored_test(line), Some(("a::b", "needs Redis; run it")));
        assert_eq!(ignored_test("test a   ... ignored (none (here))"), Some(("a", "none (here)")));
        assert_eq!(ignored_test("test a ... ignored"), Some(("a", "no reason")));
        assert_eq!(ignored_test("test a ... ok"), None);
        assert_eq!(ignored_test("test result: ok. 0 passed; 0 failed; 3 ignored"), None);
    }

    #[test]
    fn what_is_there_after_all_is_used_in_a_second_call() {
        let mut ignored = read();
        let programs = BTreeSet::from(["--lib".to_owned(), "--test=it".to_owned()]);
        let call = ignored.second_call(&[], &programs, |thing| thing == "PostgreSQL");
        let call = call.unwrap().join(" ");
        let end = "--all-features --lib --test=it -- --ignored --exact scale::a";
        assert!(call.ends_with(end), "{call}");
        let left = ignored.to_string();
        assert!(!left.contains("needs PostgreSQL;"), "{left}");
        let with_both =
            ignored.second_call(&words("-p x --lib"), &programs, |thing| thing != "test data");
        let with_both = with_both.unwrap().join(" ");
        assert_eq!(with_both, "--locked --no-fail-fast -p x --lib -- --ignored --exact both::b");
    }

    /// The story of a second call that failed in each program that takes one name only, although
    /// none of its tests was meant.
    #[test]
    fn programs_without_such_tests_are_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let ignored = "#[test]\n#[ignore = \"needs Redis; run it\"]\nfn a() {}\n";
        for (path, text) in [
            ("context-a/tests/it/deep/b.rs", ignored),
            ("context-a/tests/alone.rs", ignored),
            ("context-a/tests/own/main.rs", "fn main() {}\n"),
            ("context-b/src/c.rs", ignored),
            ("outside/context-c/tests/far.rs", ignored),
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let of =
            |given| programs(root.path(), &words(given)).unwrap().into_iter().collect::<Vec<_>>();
        assert_eq!(of(""), ["--lib", "--test=alone", "--test=it"]);
        assert_eq!(of("-p context-layer-a"), ["--test=alone", "--test=it"]);
    }

    #[test]
    fn nothing_is_run_a_second_time_that_nobody_asked_for() {
        assert_eq!(read().second_call(&[], &BTreeSet::new(), |_| false), None);
        assert_eq!(read().second_call(&words("-p x -- scale"), &BTreeSet::new(), |_| true), None);
    }

    #[test]
    fn the_rest_is_listed_by_reason() {
        let mut ignored = read();
        ignored.extend(read());
        let _call = ignored.second_call(&[], &BTreeSet::new(), |thing| thing != "S3");
        let expect = "ignored: 2 × X is not set\n\
            ignored: 2 × long; `cargo xtask ci --long` runs it\n";
        assert_eq!(ignored.to_string(), expect);
    }
}
