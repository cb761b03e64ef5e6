//! The table of runs and results.

use std::fmt::Write;

/// One fault on one backend.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) fault: String,
    pub(crate) backend: String,
    pub(crate) runs: u64,
    /// Writes that the store acknowledged.
    pub(crate) acknowledged: u64,
    /// Calls that had to be repeated.
    pub(crate) repeated: u64,
    /// Acknowledged writes that were missing.
    pub(crate) lost: u64,
    /// Writes that were present more than once, or that nobody requested.
    pub(crate) duplicated: u64,
    /// Findings of the store's own check.
    pub(crate) findings: u64,
    /// The plans of failed runs, and their failures.
    pub(crate) stories: Vec<String>,
}

impl Row {
    /// Returns a description of the problems, if any.
    pub(crate) fn wrong(&self) -> Option<String> {
        if self.lost + self.duplicated + self.findings == 0 {
            return None;
        }
        let Self { acknowledged, lost, duplicated, findings, stories, .. } = self;
        let counts = format!(
            "of {acknowledged} acknowledged writes {lost} were lost and {duplicated} duplicated, \
             and the check found {findings}"
        );
        Some(format!("{counts}\n{}", stories.join("\n")))
    }

    fn cells(&self) -> [String; 8] {
        let check = if self.findings == 0 {
            "clean".to_owned()
        } else {
            format!("{} findings", self.findings)
        };
        let counts = [self.runs, self.acknowledged, self.repeated, self.lost, self.duplicated];
        let [runs, acknowledged, repeated, lost, duplicated] =
            counts.map(|count| count.to_string());
        let (fault, backend) = (self.fault.clone(), self.backend.clone());
        [fault, backend, runs, acknowledged, repeated, lost, duplicated, check]
    }
}

#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Row>);

impl Table {
    pub(crate) fn add(&mut self, row: Row) {
        self.0.push(row);
    }

    fn text(&self) -> String {
        let head =
            ["fault", "backend", "runs", "acknowledged", "repeated", "lost", "duplicated", "check"];
        let mut rows: Vec<_> = self.0.iter().map(Row::cells).collect();
        rows.sort();
        rows.insert(0, head.map(ToOwned::to_owned));
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths: Vec<_> = (0..head.len()).map(width).collect();
        let mut text = String::new();
        for row in &rows {
            for (i, (cell, width)) in row.iter().zip(widths.iter().copied()).enumerate() {
                let _ = match i {
                    0 | 1 => write!(text, "{cell:<width$}  "),
                    2..=6 => write!(text, "{cell:>width$}  "),
                    _ => writeln!(text, "{cell}"),
                };
            }
        }
        text
    }

    #[expect(clippy::print_stdout, reason = "what a long run is for")]
    pub(crate) fn print(&self) {
        if !self.0.is_empty() {
            println!("\n{}", self.text());
        }
    }
}
