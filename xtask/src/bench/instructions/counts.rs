//! The file of saved counts, and the comparison with a new count.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The growth in percent above which a warning is printed.
const GROWTH: u128 = 5;

/// The contents of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Counts {
    /// The compiler and the profiler.
    pub(super) toolchain: Option<String>,
    pub(super) machine: Option<String>,
    /// The instructions by case.
    #[serde(default)]
    pub(super) cases: BTreeMap<String, u64>,
}

impl Counts {
    /// Reads the counts of a file. A missing file has no counts.
    pub(super) fn read(file: &Path) -> Result<Self> {
        match fs::read_to_string(file) {
            Ok(text) => {
                Self::parse(&text).with_context(|| format!("{} is damaged", file.display()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("could not read {}", file.display())),
        }
    }

    fn parse(text: &str) -> Result<Self> {
        Ok(toml::from_str(text)?)
    }

    pub(super) fn write(&self, file: &Path) -> Result<()> {
        Ok(fs::write(file, self.text()?)?)
    }

    fn text(&self) -> Result<String> {
        let mut text =
            "# Instructions of hot paths, written by `cargo xtask bench instructions --save`.\n"
                .to_owned();
        write!(text, "{}", toml::to_string(self)?)?;
        Ok(text)
    }
}

/// A count and the saved one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) before: Option<u64>,
    now: u64,
}

impl Change {
    pub(super) fn of(before: Option<u64>, now: u64) -> Self {
        Self { before, now }
    }

    /// Returns the growth in percent, or `None` for a new case.
    fn percent(self) -> Option<f64> {
        let before = self.before.filter(|before| *before > 0)? as f64;
        Some((self.now as f64 / before - 1.0) * 100.0)
    }

    pub(super) fn is_growth(self) -> bool {
        let before = self.before.filter(|before| *before > 0);
        before
            .is_some_and(|before| u128::from(self.now) * 100 > u128::from(before) * (100 + GROWTH))
    }

    pub(super) fn text(self) -> String {
        self.percent().map_or("new".to_owned(), |percent| format!("{percent:+.1} %"))
    }
}

/// Sorts the counts and returns the median.
pub(super) fn median(counts: &mut [u64]) -> Option<u64> {
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied()
}

/// Returns the distance between the extreme counts, in percent of the lowest.
pub(super) fn spread(counts: &[u64]) -> f64 {
    match (counts.iter().min(), counts.iter().max()) {
        (Some(&least), Some(&most)) if least > 0 => (most - least) as f64 / least as f64 * 100.0,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, Counts, median, spread};

    #[test]
    fn only_more_than_five_percent_is_growth() {
        let grows = |before, now| Change::of(before, now).is_growth();
        assert!(!grows(Some(1_000), 1_050));
        assert!(grows(Some(1_000), 1_051));
        assert!(!grows(Some(1_000), 10));
        assert!(!grows(None, 10));
        assert!(!grows(Some(0), 10));
    }

    #[test]
    fn a_change_says_by_how_much() {
        assert_eq!(Change::of(Some(200), 230).text(), "+15.0 %");
        assert_eq!(Change::of(Some(200), 100).text(), "-50.0 %");
        assert_eq!(Change::of(None, 100).text(), "new");
    }

    #[test]
    fn the_file_comes_back_as_it_was_written() {
        let counts = Counts {
            toolchain: Some("rustc 1".into()),
            machine: None,
            cases: [("append a message, SQLite".to_owned(), 7)].into(),
        };
        let text = counts.text().unwrap();
        assert!(text.contains("\"append a message, SQLite\" = 7\n"), "{text}");
        assert_eq!(Counts::parse(&text).unwrap(), counts);
        assert!(Counts::parse("cases = 3").is_err());
        assert!(Counts::parse("unknown = 3").is_err());
    }

    #[test]
    fn a_file_that_is_not_there_has_no_counts() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Counts::read(&folder.path().join("counts.toml")).unwrap(), Counts::default());
    }

    #[test]
    fn the_spread_is_between_the_outermost() {
        let mut counts = [110, 100, 105];
        assert_eq!(median(&mut counts), Some(105));
        assert_eq!(spread(&counts), 10.0);
        assert_eq!(median(&mut []), None);
    }
}
