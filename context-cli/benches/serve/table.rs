//! The rows of a run, as other benchmarks print them.

use serde::Serialize;

use crate::database::Kind;
use crate::load::Measured;

/// The least part of the floor's requests a second.
const TARGET: f64 = 0.6;

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
    ours: f64,
    floor: f64,
    unit: &'static str,
    ratio: f64,
    /// The least ratio.
    target: Option<f64>,
}

impl Table {
    pub(crate) fn new(json: bool) -> Self {
        if !json {
            let [case, n, ours, floor] = ["case", "clients", "ours", "floor"];
            println!("{case:<44} {n:>7} {ours:>12} {floor:>12} {:>6} {:>7}", "ratio", "target");
        }
        Self { json, missed: Vec::new() }
    }

    /// Adds the rounds of a store: of each value the median, and the median of the ratios.
    pub(crate) fn add(&mut self, store: Kind, n: usize, ours: &[Measured], floor: &[Measured]) {
        let mut row = |what: &str, unit, target, of: &dyn Fn(&Measured) -> Option<f64>| {
            let pairs: Option<Vec<_>> =
                ours.iter().zip(floor).map(|(ours, floor)| Some((of(ours)?, of(floor)?))).collect();
            if let Some(pairs) = pairs {
                self.row(&format!("{store}: {what}"), n, &pairs, unit, target);
            }
        };
        row("requests a second", "/s", Some(TARGET), &|it| Some(it.rate));
        row("append of two, median", "ms", None, &|it| part(&it.appends, 0.5));
        row("append of two, 99 of 100", "ms", None, &|it| part(&it.appends, 0.99));
        row("newest 20, median", "ms", None, &|it| part(&it.pages, 0.5));
        row("newest 20, 99 of 100", "ms", None, &|it| part(&it.pages, 0.99));
        row("CPU of the servers, each request", "us", None, &|it| it.servers);
        row("CPU of the clients, each request", "us", None, &|it| it.clients);
    }

    fn row(
        &mut self,
        case: &str,
        n: usize,
        pairs: &[(f64, f64)],
        unit: &'static str,
        target: Option<f64>,
    ) {
        let of = |of: fn(&(f64, f64)) -> f64| median(pairs.iter().map(of).collect());
        let ratio = of(|(ours, floor)| ours / floor);
        let [ours, floor] = [of(|pair| pair.0), of(|pair| pair.1)].map(round);
        if target.is_some_and(|target| ratio < target) {
            self.missed.push(case.to_owned());
        }
        if self.json {
            let ratio = round(ratio);
            let line = Line { area: "serve", case, n, ours, floor, unit, ratio, target };
            println!("{}", serde_json::to_string(&line).unwrap());
        } else {
            let target = target.map_or("-".to_owned(), |target| format!("≥ {target:.2}"));
            let [ours, floor] = [ours, floor].map(|value| format!("{value:.1} {unit}"));
            println!("{case:<44} {n:>7} {ours:>12} {floor:>12} {ratio:>6.2} {target:>7}");
        }
    }

    /// Prints a line of text: to standard error if the output is JSON.
    #[allow(clippy::print_stderr, reason = "beside the rows")]
    pub(crate) fn note(&self, text: &str) {
        if self.json {
            eprintln!("{text}");
        } else {
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

/// Returns the value below which this part of the ascending values is.
fn part(values: &[f64], part: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    values.get((last as f64 * part).round() as usize).copied()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
