//! Tests that a call of `cargo test` ignored.

use std::collections::BTreeMap;
use std::fmt;

use super::cargo_args;

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
    /// them, or `None` if there are none. `has` says whether something that tests need is there.
    pub(super) fn second_call(
        &mut self,
        given: &[String],
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
        // Documentation has no such tests, and building its examples takes long.
        if !given.iter().any(chooses) {
            call.push("--tests".to_owned());
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
    use super::{Ignored, ignored_test};

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
        let call = ignored.second_call(&[], |thing| thing == "PostgreSQL").unwrap().join(" ");
        assert!(call.ends_with("--all-features --tests -- --ignored --exact scale::a"), "{call}");
        let left = ignored.to_string();
        assert!(!left.contains("needs PostgreSQL;"), "{left}");
        let with_both = ignored.second_call(&words("-p x --lib"), |thing| thing != "test data");
        let with_both = with_both.unwrap().join(" ");
        assert_eq!(with_both, "--locked --no-fail-fast -p x --lib -- --ignored --exact both::b");
    }

    #[test]
    fn nothing_is_run_a_second_time_that_nobody_asked_for() {
        assert_eq!(read().second_call(&[], |_| false), None);
        assert_eq!(read().second_call(&words("-p x -- scale"), |_| true), None);
    }

    #[test]
    fn the_rest_is_listed_by_reason() {
        let mut ignored = read();
        ignored.extend(read());
        let _call = ignored.second_call(&[], |thing| thing != "S3");
        let expect = "ignored: 2 × X is not set\n\
            ignored: 2 × long; `cargo xtask ci --long` runs it\n";
        assert_eq!(ignored.to_string(), expect);
    }
}
