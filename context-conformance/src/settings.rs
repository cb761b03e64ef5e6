//! Settings of a run, from the caller or from environment variables.

use std::env;
use std::path::PathBuf;

/// The settings of random cases. The defaults suit a run beside other tests;
/// `cargo xtask conformance --cases N --kills N` proves as much as there is time for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaseSettings {
    /// The first seed of random cases. Fixed unless set, so that a run can be repeated.
    pub seed: u64,
    /// The number of random sequences per random case.
    pub sequences: u32,
    /// The number of writing processes to kill, over all cases that kill.
    pub kills: u32,
    /// The number of histories per case that checks recorded calls of many clients.
    pub histories: u32,
}

impl Default for CaseSettings {
    fn default() -> Self {
        Self { seed: 0x5eed, sequences: 40, kills: 40, histories: 5 }
    }
}

impl CaseSettings {
    /// Returns the settings of the environment: `CONTEXT_CONFORMANCE_SEED` (decimal, or hexadecimal
    /// after `0x`), `CONTEXT_CONFORMANCE_CASES`, `CONTEXT_CONFORMANCE_KILLS` and
    /// `CONTEXT_CONFORMANCE_HISTORIES`. A variable that is not set or not a number keeps its
    /// default.
    pub fn from_env() -> Self {
        Self::default().or_from_env()
    }

    /// Returns these settings, overridden by the environment.
    pub(crate) fn or_from_env(self) -> Self {
        let text = |name| env::var(name).ok();
        let count = |name| text(name).and_then(|count| count.parse().ok());
        Self {
            seed: text("CONTEXT_CONFORMANCE_SEED")
                .and_then(|seed| number(&seed))
                .unwrap_or(self.seed),
            sequences: count("CONTEXT_CONFORMANCE_CASES").unwrap_or(self.sequences),
            kills: count("CONTEXT_CONFORMANCE_KILLS").unwrap_or(self.kills),
            histories: count("CONTEXT_CONFORMANCE_HISTORIES").unwrap_or(self.histories),
        }
    }
}

/// Returns the file to which cases append their report, if one is set.
pub(crate) fn report_file() -> Option<PathBuf> {
    env::var_os("CONTEXT_CONFORMANCE_REPORT").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Whether the environment selects a case: `CONTEXT_CONFORMANCE_GROUP` is its group, and
/// `CONTEXT_CONFORMANCE_CASE` a part of its name. A variable that is not set selects all.
pub(crate) fn is_selected(group: &str, case: &str) -> bool {
    let text = |name| env::var(name).ok();
    text("CONTEXT_CONFORMANCE_GROUP").is_none_or(|selected| group == selected)
        && text("CONTEXT_CONFORMANCE_CASE").is_none_or(|part| case.contains(&part))
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
