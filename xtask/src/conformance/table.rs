//! The table of results: groups and cases by subjects, then the skipped cases with reasons, then
//! the failures and how to reproduce them.
//!
//! A column is as wide as its contents. Subjects that do not fit into the width continue below,
//! with the rows that concern them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::hash::Hash;

use super::report::{Line, Outcome};

/// The maximum width of a line, in characters.
const WIDTH: usize = 120;
/// The minimum width of the column of names.
const NAMES: usize = 18;
/// The minimum space between two columns.
const GAP: usize = 2;
/// The number of lines of a reason that are shown. A history or a prompt may have hundreds.
const REASON: usize = 30;

/// The contents of the reports, ready to print.
#[derive(Debug)]
pub struct Table<'a> {
    lines: &'a [Line],
    rows: Vec<Row<'a>>,
    subjects: Vec<&'a str>,
    /// By subject and row. The row without a group is the total.
    counts: HashMap<(&'a str, Row<'a>), Count>,
    again: String,
}

/// A row: of a case, of a group, or of the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Row<'a> {
    group: Option<&'a str>,
    case: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    passed: usize,
    skipped: usize,
    failed: usize,
}

impl<'a> Table<'a> {
    /// Builds the table of report lines. Groups, cases and subjects keep the order of the lines.
    pub fn new(lines: &'a [Line]) -> Self {
        let subjects = in_order(lines.iter().map(|line| line.subject.as_str()));
        let (mut cases, mut counts) = (BTreeMap::<&str, Vec<Row<'_>>>::new(), HashMap::new());
        for line in lines {
            let case = Row { group: Some(&line.group), case: Some(&line.case) };
            cases.entry(&line.group).or_default().push(case);
            for row in [case, Row { case: None, ..case }, Row::default()] {
                let count: &mut Count = counts.entry((line.subject.as_str(), row)).or_default();
                match line.outcome {
                    Outcome::Pass => count.passed += 1,
                    Outcome::Skip => count.skipped += 1,
                    Outcome::Fail => count.failed += 1,
                    Outcome::Begin => {}
                }
            }
        }
        let mut rows = Vec::new();
        for group in in_order(lines.iter().map(|line| line.group.as_str())) {
            rows.push(Row { group: Some(group), case: None });
            rows.extend(in_order(cases.remove(group).unwrap_or_default()));
        }
        Self { lines, rows, subjects, counts, again: String::new() }
    }

    /// Leaves out the rows of cases.
    pub fn brief(mut self, brief: bool) -> Self {
        self.rows.retain(|row| !brief || row.case.is_none());
        self
    }

    /// Sets the begin of the command that repeats a case.
    pub fn again(mut self, command: String) -> Self {
        self.again = command;
        self
    }

    fn cell(&self, subject: &'a str, row: Row<'a>) -> String {
        let count = self.counts.get(&(subject, row)).copied().unwrap_or_default();
        match (row.case, count) {
            (None, _) => count.to_string(),
            (Some(_), Count { failed: 1.., .. }) => "FAILED".to_owned(),
            (Some(_), Count { passed: 1.., .. }) => "ok".to_owned(),
            (Some(_), Count { skipped: 1.., .. }) => "skip".to_owned(),
            (Some(_), _) => "-".to_owned(),
        }
    }

    /// Prints columns next to each other: their subjects and widths, the column of names first.
    fn block(
        &self,
        f: &mut fmt::Formatter<'_>,
        names: usize,
        columns: &[(&'a str, usize)],
    ) -> fmt::Result {
        let mut row = |name: &str, cell: &dyn Fn(&'a str) -> String| {
            write!(f, "{name:<names$}")?;
            for (subject, width) in columns {
                write!(f, "{:>width$}", cell(subject))?;
            }
            writeln!(f)
        };
        let has_row = |row: &Row<'a>| {
            columns.iter().any(|(subject, _)| self.counts.contains_key(&(*subject, *row)))
        };
        let version = self.lines.first().map_or(0, |line| line.suite_version);
        row(&format!("suite v{version}"), &|subject| subject.to_owned())?;
        for kind in self.rows.iter().copied().filter(has_row).chain([Row::default()]) {
            row(&kind.to_string(), &|subject| self.cell(subject, kind))?;
        }
        row("provision", &|subject| self.provision(subject).to_owned())
    }

    fn provision(&self, subject: &str) -> &'a str {
        let mut lines = self.lines.iter();
        lines.find(|line| line.subject == subject).map_or("-", |line| &line.provision)
    }

    /// Returns the width of the column of names.
    fn names(&self) -> usize {
        self.rows.iter().map(|row| row.to_string().chars().count()).max().unwrap_or(0).max(NAMES)
    }

    /// Returns the width of the column of a subject.
    fn width(&self, subject: &'a str) -> usize {
        let rows = self.rows.iter().copied().chain([Row::default()]);
        let cells = rows.map(|row| self.cell(subject, row).len()).max().unwrap_or(0);
        let texts = [subject, self.provision(subject)].map(|text| text.chars().count());
        GAP + texts.into_iter().fold(cells, usize::max)
    }

    fn skips(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reasons = BTreeMap::<_, Vec<&str>>::new();
        for line in self.lines.iter().filter(|line| line.outcome == Outcome::Skip) {
            let reason = line.reason.as_deref().unwrap_or("no reason given");
            let cases = reasons.entry((reason, line.subject.as_str())).or_default();
            // A subject may be tested in several tests.
            if !cases.contains(&line.case.as_str()) {
                cases.push(&line.case);
            }
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
            let Line { subject, group, case, seed, krate, .. } = line;
            write!(f, "FAILED {subject} {group}::{case}")?;
            if let Some(test) = &line.test {
                write!(f, " (in {test})")?;
            }
            let reason = line.reason.as_deref().unwrap_or_default();
            let mut texts = reason.lines();
            writeln!(f, ": {}", texts.next().unwrap_or_default())?;
            for text in texts.by_ref().take(REASON - 1) {
                writeln!(f, "    {text}")?;
            }
            match texts.count() {
                0 => {}
                more => writeln!(f, "    ({more} more lines, which the test prints)")?,
            }
            writeln!(
                f,
                "  again: {} --subject {krate} --group {group} --case {case} --seed {seed:#x}",
                self.again
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names();
        let (mut columns, mut used) = (Vec::new(), names);
        for subject in &self.subjects {
            let width = self.width(subject);
            if used + width > WIDTH && !columns.is_empty() {
                self.block(f, names, &columns)?;
                writeln!(f)?;
                (columns, used) = (Vec::new(), names);
            }
            used += width;
            columns.push((*subject, width));
        }
        self.block(f, names, &columns)?;
        self.skips(f)?;
        self.failures(f)
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.group, self.case) {
            (_, Some(case)) => write!(f, "  {case}"),
            (Some(group), None) => f.write_str(group),
            (None, None) => f.write_str("total"),
        }
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

/// Returns each value once, where it first occurs.
fn in_order<T: Copy + Eq + Hash>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    values.into_iter().filter(|value| seen.insert(*value)).collect()
}
