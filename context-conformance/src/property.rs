//! Property tests with reproducible random cases: their number, their seed, and the report of a
//! failure.

use std::env;
use std::fmt::{self, Debug};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseResult, TestError, TestRng, TestRunner};

use crate::settings::CaseSettings;

/// The number of cases per property, unless the environment sets one.
const CASES: u32 = 64;

/// A failure of a property.
#[derive(Debug)]
pub(crate) struct Counterexample<T> {
    /// The expected and the actual result, as text.
    pub(crate) why: String,
    /// The smallest failing case. `None` if no cases could be generated.
    pub(crate) case: Option<T>,
    /// The settings that reproduce the failure.
    pub(crate) reproduction: Reproduction,
}

/// The number of random cases and their seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reproduction {
    cases: u32,
    seed: u64,
}

impl Reproduction {
    /// Returns the settings of the environment.
    fn from_env() -> Self {
        let is_set = env::var_os("PROPTEST_CASES").is_some();
        let cases = if is_set { Config::default().cases } else { CASES };
        Self { cases, seed: CaseSettings::from_env().seed }
    }

    fn rng(self) -> TestRng {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.seed.to_le_bytes());
        TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
    }
}

impl fmt::Display for Reproduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, seed } = self;
        write!(f, "again: PROPTEST_CASES={cases} CONTEXT_CONFORMANCE_SEED={seed:#x}")
    }
}

/// Checks a property with random cases. A panic counts as a failure.
pub(crate) fn ask<S: Strategy>(
    cases: &S,
    property: impl Fn(&S::Value) -> TestCaseResult,
) -> Result<(), Counterexample<S::Value>>
where
    S::Value: Debug,
{
    let reproduction = Reproduction::from_env();
    let config =
        Config { cases: reproduction.cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, reproduction.rng());
    runner.run(cases, |case| property(&case)).map_err(|error| match error {
        TestError::Fail(why, case) => {
            Counterexample { why: why.to_string(), case: Some(case), reproduction }
        }
        TestError::Abort(why) => Counterexample { why: why.to_string(), case: None, reproduction },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_case_is_found_and_how_to_see_it_again() {
        let broken = ask(&(0_u32..1_000), |n| {
            prop_assert!(*n < 10, "{n} is too large");
            Ok(())
        });
        let broken = broken.expect_err("there are numbers from ten on");
        assert_eq!(broken.case, Some(10));
        assert!(broken.why.starts_with("10 is too large"), "{}", broken.why);
        let shown = Reproduction { cases: 7, seed: 0xfeed };
        assert_eq!(shown.to_string(), "again: PROPTEST_CASES=7 CONTEXT_CONFORMANCE_SEED=0xfeed");
    }
}
