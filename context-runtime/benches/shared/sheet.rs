//! Tables of quality: numbers, each with its baseline.

use serde::Serialize;

/// A number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric {
    name: &'static str,
    value: f64,
    baseline: f64,
    target: Option<f64>,
}

impl Metric {
    pub(crate) fn new(name: &'static str, value: f64, baseline: f64) -> Self {
        Self { name, value: round(value), baseline: round(baseline), target: None }
    }

    /// Sets a target that the number must not exceed.
    pub(crate) fn at_most(self, target: f64) -> Self {
        Self { target: Some(target), ..self }
    }

    fn is_missed(&self) -> bool {
        self.target.is_some_and(|target| self.value > target)
    }
}

/// A number as `--json` prints it.
#[derive(Serialize)]
struct Line<'a> {
    area: &'static str,
    case: &'a str,
    dataset: &'a str,
    metric: &'static str,
    value: f64,
    baseline: f64,
    target: Option<f64>,
}

/// The rows of a run.
pub(crate) struct Sheet {
    area: &'static str,
    json: bool,
    /// Whether the header of the current table was printed.
    begun: bool,
    missed: Vec<String>,
}

impl Sheet {
    pub(crate) fn new(area: &'static str, json: bool) -> Self {
        Self { area, json, begun: false, missed: Vec::new() }
    }

    /// Begins a table in Markdown. JSON has no tables.
    pub(crate) fn begin(&mut self, title: &str) {
        self.begun = false;
        self.note(&format!("\n### {title}\n"));
    }

    /// Adds the numbers of a case on a data set: one row as text, or one line per number as JSON.
    pub(crate) fn add(&mut self, case: &str, dataset: &str, metrics: &[Metric]) {
        let missed = metrics.iter().filter(|metric| metric.is_missed());
        self.missed.extend(missed.map(|metric| format!("{} of {case} on {dataset}", metric.name)));
        if self.json {
            for Metric { name: metric, value, baseline, target } in metrics.iter().copied() {
                let line = Line { area: self.area, case, dataset, metric, value, baseline, target };
                println!("{}", serde_json::to_string(&line).unwrap());
            }
            return;
        }
        if !std::mem::replace(&mut self.begun, true) {
            let names: Vec<_> = metrics.iter().map(|metric| metric.name).collect();
            println!("| | {} |\n|---|{}", names.join(" | "), "---:|".repeat(names.len()));
        }
        let values: Vec<_> = metrics.iter().map(|metric| metric.value.to_string()).collect();
        println!("| {case} | {} |", values.join(" | "));
    }

    /// Prints a line of text.
    pub(crate) fn note(&self, text: &str) {
        if !self.json {
            println!("{text}");
        }
    }

    /// Prints which targets were missed. Returns whether any was.
    pub(crate) fn finish(self) -> bool {
        if !self.json && !self.missed.is_empty() {
            println!("\nmissed: {}", self.missed.join("; "));
        }
        !self.missed.is_empty()
    }
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
