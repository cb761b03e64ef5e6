//! What a run can be told from outside: by the caller, or for whole test programs by the
//! environment.

use std::env;
use std::path::PathBuf;

/// How random cases are run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Where random cases begin. Fixed unless set, so that a run can be repeated.
    pub seed: u64,
    /// How many random sequences a random case tries.
    pub sequences: u32,
    /// How many writing processes are killed, over all cases that do.
    pub kills: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 0x5eed, sequences: 60, kills: 200 }
    }
}

impl Settings {
    /// The settings of the environment: `CONTEXT_CONFORMANCE_SEED` (decimal, or hexadecimal behind
    /// `0x`), `CONTEXT_CONFORMANCE_CASES` and `CONTEXT_CONFORMANCE_KILLS`. What is not set or not a
    /// number is as by default.
    pub fn from_env() -> Self {
        Self::default().or_as_told()
    }

    /// These settings, where the environment does not say otherwise.
    pub(crate) fn or_as_told(self) -> Self {
        let text = |name| env::var(name).ok();
        let count = |name| text(name).and_then(|count| count.parse().ok());
        Self {
            seed: told_seed().unwrap_or(self.seed),
            sequences: count("CONTEXT_CONFORMANCE_CASES").unwrap_or(self.sequences),
            kills: count("CONTEXT_CONFORMANCE_KILLS").unwrap_or(self.kills),
        }
    }
}

/// Where random cases are to begin, if the environment says so.
pub(crate) fn told_seed() -> Option<u64> {
    env::var("CONTEXT_CONFORMANCE_SEED").ok().and_then(|seed| number(&seed))
}

/// Where the harness appends its report, if it is to.
pub(crate) fn report_file() -> Option<PathBuf> {
    env::var_os("CONTEXT_CONFORMANCE_REPORT").filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_read_as_they_are_printed() {
        let cases = [
            ("0x5eed", Some(0x5eed)),
            ("12", Some(12)),
            ("", None),
            ("0x", None),
            ("twelve", None),
        ];
        for (text, expected) in cases {
            assert_eq!(number(text), expected, "{text:?}");
        }
        let seed = u64::MAX;
        assert_eq!(number(&format!("{seed:#x}")), Some(seed));
    }
}
