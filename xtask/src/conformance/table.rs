//! The table: groups by subjects, then what was skipped and why, then what failed and how to see it again.

use std::collections::BTreeMap;
use std::fmt;

use super::{Line, Outcome};

/// What reports say, ready to print.
#[derive(Debug)]
pub struct Table<'a> {
    lines: &'a [Line],
    groups: Vec<&'a str>,
    subjects: Vec<&'a str>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    passed: usize,
    skipped: usize,
    failed: usize,
}

impl<'a> Table<'a> {
    /// The table of report lines; groups and subjects keep the order they were reported in.
    pub fn new(lines: &'a [Line]) -> Self {
        let groups = in_order(lines.iter().map(|line| line.group.as_str()));
        let subjects = in_order(lines.iter().map(|line| line.subject.as_str()));
        Self { lines, groups, subjects }
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

    fn row(&self, f: &mut fmt::Formatter<'_>, name: &str, group: Option<&str>) -> fmt::Result {
        write!(f, "{name:<16}")?;
        for subject in &self.subjects {
            write!(f, "{:>24}", self.count(group, subject).to_string())?;
        }
        writeln!(f)
    }

    fn skips(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reasons = BTreeMap::<_, Vec<&str>>::new();
        for line in self.lines.iter().filter(|line| line.outcome == Outcome::Skip) {
            let reason = line.reason.as_deref().unwrap_or("no reason given");
            reasons.entry((&line.subject, reason)).or_default().push(&line.case);
        }
        for ((subject, reason), cases) in reasons {
            writeln!(f, "skipped by {subject} ({reason}): {}", cases.join(", "))?;
        }
        Ok(())
    }

    fn failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.lines.iter().filter(|line| line.outcome == Outcome::Fail) {
            let Line { subject, group, case, seed, .. } = line;
            writeln!(f, "FAILED {subject} {group}::{case}: {}", line.reason.as_deref().unwrap_or_default())?;
            writeln!(f, "  again: cargo xtask conformance --group {group} --case {case} --seed {seed:#x}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.lines.first().map_or(0, |line| line.suite_version);
        write!(f, "{:<16}", format!("suite v{version}"))?;
        for subject in &self.subjects {
            write!(f, "{subject:>24}")?;
        }
        writeln!(f)?;
        for group in &self.groups {
            self.row(f, group, Some(group))?;
        }
        self.row(f, "total", None)?;
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
            write!(f, " + {skipped} skipped")?;
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
