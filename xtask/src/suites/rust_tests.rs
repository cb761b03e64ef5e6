//! A run of Rust tests, and what they said.

use anyhow::{Result, ensure};

use super::outcome::Outcome;
use crate::process::{Cargo, Verdict};

/// Runs the tests of a call of `cargo test`. A call that fails without a failed test, such as one
/// that does not build, is an error.
pub(super) fn run(cargo: Cargo) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let verdict = cargo.run_reading(|line| match said(line) {
        Some((_, Said::Passed)) => outcome.passed += 1,
        Some((test, Said::Failed)) => outcome.failed.push(test.to_owned()),
        Some((test, Said::Ignored)) => {
            let reason = "the suite itself does not run it";
            outcome.skipped.push((test.to_owned(), reason.to_owned()));
        }
        None => {}
    })?;
    ensure!(verdict == Verdict::Passed || !outcome.failed.is_empty(), "the suite did not run");
    Ok(outcome)
}

/// The end of a test.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Passed,
    Failed,
    Ignored,
}

/// Returns the test that a line reports, and how it ended.
pub(super) fn said(line: &str) -> Option<(&str, Said)> {
    let (test, end) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let said = match end.split(',').next()? {
        "ok" => Said::Passed,
        "FAILED" => Said::Failed,
        "ignored" => Said::Ignored,
        _ => return None,
    };
    Some((test.trim_end(), said))
}

#[cfg(test)]
mod tests {
    use super::{Said, said};

    #[test]
    fn a_line_tells_how_a_test_ended() {
        assert_eq!(said("test a::b ... ok"), Some(("a::b", Said::Passed)));
        assert_eq!(said("test a ... FAILED"), Some(("a", Said::Failed)));
        assert_eq!(said("test a ... ignored, needs a key"), Some(("a", Said::Ignored)));
        assert_eq!(said("test result: ok. 1 passed"), None);
    }
}
