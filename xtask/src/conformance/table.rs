//! The table of results: groups by subjects, then the skipped cases with reasons, then the failures
//! and how to reproduce them.
//!
//! A column is as wide as its contents. Subjects that do not fit into the width continue below.

use std::collections::BTreeMap;
use std::fmt;

use super::{Line, Outcome, SUITES};

/// The maximum width of a line, in characters.
const WIDTH: usize = 120;
/// The width of the column of group names.
const NAMES: usize = 18;
/// The minimum space between two columns.
const GAP: usize = 2;

/// The contents of the reports, ready to print.
#[derive(Debug)]
pub struct Table<'a> {
    lines: &'a [Line],
    groups: Vec<&'a str>,
    subjects: Vec<&'a str>,
    provisions: BTreeMap<&'a str, &'a str>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    passed: usize,
    skipped: usize,
    failed: usize,
}

impl<'a> Table<'a> {
    /// Builds the table of report lines. Groups and subjects keep the order of the lines.
    pub fn new(lines: &'a [Line]) -> Self {
        let groups = in_order(lines.iter().map(|line| line.group.as_str()));
        let subjects = in_order(lines.iter().map(|line| line.subject.as_str()));
        Self { lines, groups, subjects, provisions: BTreeMap::new() }
    }

    /// Sets where subjects, by their names, got their servers from.
    pub fn provisions(mut self, provisions: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.provisions.extend(provisions);
        self
    }

    /// Whether any case failed.
    pub fn has_failures(&self) -> bool {
        self.lines.iter().any(|line| line.outcome == Outcome::Fail)
    }

    fn count(&self, group: Option<&str>, subject: &str) -> Count {
        let mut count = Count::default();
        for line in self.lines.iter().filter(|line| line.subject == subject) {
            if group.is_some_and(|group| line.group != group) {
                continue;
            }
            match line.outcome {
                Outcome::Pass => count.passed += 1,
                Outcome::Skip => count.skipped += 1,
                Outcome::Fail => count.failed += 1,
            }
        }
        count
    }

    /// Returns the cells of the column of a subject, from its name to its provision.
    fn column(&self, subject: &str) -> Vec<String> {
        let counts = self.groups.iter().map(|group| self.count(Some(group), subject).to_string());
        let total = self.count(None, subject).to_string();
        let provision = self.provisions.get(subject).copied().unwrap_or("-").to_owned();
        std::iter::once(subject.to_owned()).chain(counts).chain([total, provision]).collect()
    }

    /// Prints columns next to each other.
    fn block(&self, f: &mut fmt::Formatter<'_>, columns: &[(usize, Vec<String>)]) -> fmt::Result {
        let version = self.lines.first().map_or(0, |line| line.suite_version);
        let corner = format!("suite v{version}");
        let names = std::iter::once(corner.as_str())
            .chain(self.groups.iter().copied())
            .chain(["total", "provision"]);
        for (row, name) in names.enumerate() {
            write!(f, "{name:<NAMES$}")?;
            for (width, cells) in columns {
                write!(f, "{:>width$}", cells[row])?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn skips(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reasons = BTreeMap::<_, Vec<&str>>::new();
        for line in self.lines.iter().filter(|line| line.outcome == Outcome::Skip) {
            let reason = line.reason.as_deref().unwrap_or("no reason given");
            reasons.entry((reason, line.subject.as_str())).or_default().push(&line.case);
        }
        // Subjects that skip the same cases for the same reason share a line.
        let mut shared = BTreeMap::<_, Vec<&str>>::new();
        for ((reason, subject), cases) in reasons {
            shared.entry((reason, cases)).or_default().push(subject);
        }
        for ((reason, cases), subjects) in shared {
            writeln!(f, "skipped by {} ({reason}): {}", subjects.join(", "), cases.join(", "))?;
        }
        Ok(())
    }

    fn failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.lines.iter().filter(|line| line.outcome == Outcome::Fail) {
            let Line { subject, group, case, seed, .. } = line;
            writeln!(
                f,
                "FAILED {subject} {group}::{case}: {}",
                line.reason.as_deref().unwrap_or_default()
            )?;
            write!(f, "  again: cargo xtask conformance --group {group}")?;
            if !SUITES.contains(&group.as_str()) {
                write!(f, " --case {case}")?;
            }
            writeln!(f, " --seed {seed:#x}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut block = Vec::new();
        let mut used = NAMES;
        for subject in &self.subjects {
            let cells = self.column(subject);
            let width = GAP + cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
            if used + width > WIDTH && !block.is_empty() {
                self.block(f, &block)?;
                writeln!(f)?;
                (block, used) = (Vec::new(), NAMES);
            }
            used += width;
            block.push((width, cells));
        }
        self.block(f, &block)?;
        self.skips(f)?;
        self.failures(f)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, skipped, failed } = self;
        if passed + skipped + failed == 0 {
            return f.write_str("-");
        }
        write!(f, "{passed}")?;
        if *skipped > 0 {
            write!(f, "+{skipped} skip")?;
        }
        if *failed > 0 {
            write!(f, ", {failed} FAILED")?;
        }
        Ok(())
    }
}

fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}
