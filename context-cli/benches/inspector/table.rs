//! Values with absolute targets.

use serde::Serialize;

/// The rows of a run.
pub(crate) struct Table {
    json: bool,
    missed: Vec<String>,
}

/// A row as `--json` prints it.
#[derive(Serialize)]
struct Line<'a> {
    area: &'static str,
    case: &'a str,
    n: usize,
    value: f64,
    unit: &'static str,
    target: Option<f64>,
}

impl Table {
    pub(crate) fn new(json: bool) -> Self {
        if !json {
            println!("{:<52} {:>9} {:>12} {:>12}", "case", "n", "value", "target");
        }
        Self { json, missed: Vec::new() }
    }

    /// Adds a value, which must not exceed its target.
    pub(crate) fn add(
        &mut self,
        case: &str,
        n: usize,
        (value, unit): (f64, &'static str),
        target: Option<f64>,
    ) {
        let value = (value * 10.0).round() / 10.0;
        if target.is_some_and(|target| value > target) {
            self.missed.push(format!("{case} at {n}"));
        }
        if self.json {
            let line = Line { area: "inspector", case, n, value, unit, target };
            println!("{}", serde_json::to_string(&line).unwrap());
        } else {
            let target = target.map_or("-".to_owned(), |target| format!("{target} {unit}"));
            println!("{case:<52} {n:>9} {:>12} {target:>12}", format!("{value:.1} {unit}"));
        }
    }

    /// Prints why rows are missing.
    pub(crate) fn note(&self, text: &str) {
        if !self.json {
            println!("{text}");
        }
    }

    /// Prints which targets were missed. Returns whether any was.
    pub(crate) fn finish(self) -> bool {
        if !self.json && !self.missed.is_empty() {
            println!("\nmissed: {}", self.missed.join(", "));
        }
        !self.missed.is_empty()
    }
}
