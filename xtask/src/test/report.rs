//! The tests of a run that failed or were ignored.

use std::fmt;

use anyhow::Result;

use super::cargo_args;
use super::ignored::{self, Ignored};
use crate::process::{Cargo, Verdict};
use crate::workspace::Workspace;

/// The last lines of a run, because the output of the tests is far above.
#[derive(Debug, Default)]
pub(crate) struct TestReport {
    failed: Vec<String>,
    ignored: Ignored,
}

impl TestReport {
    /// Runs the tests of a workspace, and in a second call those that were ignored although all
    /// that they need is there. `cargo` returns a call of `cargo test` there, `given` are the
    /// arguments for it.
    pub(crate) fn run(
        &mut self,
        cargo: &dyn Fn() -> Result<Cargo>,
        (workspace, given): (&Workspace, &[String]),
        has: &dyn Fn(&str) -> bool,
    ) -> Result<Verdict> {
        let mut ignored = Ignored::default();
        let mut verdict = cargo()?.args(cargo_args(given)).run_reading(|line| {
            self.failed.extend(failed_test(line).map(String::from));
            ignored.read(line);
        })?;
        if let Some(second) =
            ignored.second_call(given, &ignored::programs(workspace.root(), given)?, has)
        {
            verdict = verdict.and(cargo()?.args(second).run_reading(|line| {
                self.failed.extend(failed_test(line).map(String::from));
            })?);
        }
        self.ignored.extend(ignored);
        Ok(verdict)
    }
}

impl fmt::Display for TestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ignored.fmt(f)?;
        self.failed.iter().try_for_each(|test| writeln!(f, "failed: {test}"))
    }
}

/// Returns the name of the test if a line of output reports that it failed.
fn failed_test(line: &str) -> Option<&str> {
    let (name, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    outcome.starts_with("FAILED").then(|| name.trim_end())
}

#[cfg(test)]
mod tests {
    use super::failed_test;

    #[test]
    fn a_failed_test_is_found_in_the_output() {
        let name = "cases::one (line 17)";
        assert_eq!(failed_test("test cases::one (line 17)   ... FAILED"), Some(name));
        assert_eq!(failed_test("test cases::one ... ok"), None);
        assert_eq!(failed_test("a line of a test ... FAILED"), None);
    }
}
