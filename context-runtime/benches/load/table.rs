//! The rows of a run.

use std::fmt;

use serde::Serialize;

use crate::options::{Engines, Store};
use crate::run::Measured;

/// The most that the slowest hundredth of turns may take, in times of the floor's.
const SLOWEST: f64 = 1.5;
/// The least part of the rate with a tenth of the chats.
const FLAT: f64 = 0.8;
/// The most that the last minute of a long run may differ from the second.
const STEADY: f64 = 0.05;

/// A case to measure.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) store: Store,
    pub(crate) full_text: bool,
    pub(crate) engines: Engines,
    pub(crate) chats: usize,
    pub(crate) tasks: usize,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engines = match self.engines {
            Engines::Kept => "kept",
            Engines::Opened => "opened",
        };
        let text = if self.full_text { ", full text" } else { "" };
        write!(f, "{}: {engines}{text}, {} tasks", self.store, self.tasks)
    }
}

impl Case {
    /// The least part of the floor's turns a second.
    fn target(self) -> f64 {
        if self.full_text { 0.7 } else { 0.8 }
    }
}

/// A minute of a long run.
pub(crate) struct Minute {
    pub(crate) number: u64,
    pub(crate) measured: Measured,
    /// The memory of this process and of the server, in bytes.
    pub(crate) client: f64,
    pub(crate) server: f64,
}

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
    target: Option<f64>,
}

/// The bound of a ratio.
#[derive(Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
    None,
}

impl Bound {
    fn target(self) -> Option<f64> {
        match self {
            Self::AtLeast(bound) | Self::AtMost(bound) => Some(bound),
            Self::None => None,
        }
    }

    fn is_missed(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(bound) => ratio < bound,
            Self::AtMost(bound) => ratio > bound,
            Self::None => false,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, "≥ {bound:.2}"),
            Self::AtMost(bound) => write!(f, "≤ {bound:.2}"),
            Self::None => f.write_str("-"),
        }
    }
}

impl Table {
    pub(crate) fn new(json: bool) -> Self {
        if !json {
            let [case, n, ours, floor] = ["case", "chats", "ours", "floor"];
            println!("{case:<60} {n:>7} {ours:>13} {floor:>13} {:>6} {:>7}", "ratio", "target");
        }
        Self { json, missed: Vec::new() }
    }

    /// Adds the rounds of a case: the median of each value, and the median of the ratios. Returns
    /// turns a second of ours.
    pub(crate) fn add(&mut self, case: Case, ours: &[Measured], floor: &[Measured]) -> f64 {
        type Of<'a> = &'a dyn Fn(&Measured) -> f64;
        let mut row = |what: &str, unit, bound, of: Of<'_>| {
            let pairs: Vec<_> = ours.iter().map(of).zip(floor.iter().map(of)).collect();
            let ratio = median(pairs.iter().map(|(ours, floor)| ours / floor).collect());
            let ours = median(pairs.iter().map(|pair| pair.0).collect());
            let floor = median(pairs.iter().map(|pair| pair.1).collect());
            if floor > 0.0 {
                self.row(&format!("{case}: {what}"), case.chats, [ours, floor, ratio], unit, bound);
            }
            ours
        };
        let each = |of: fn(&Measured) -> f64, scale: f64| {
            move |it: &Measured| of(it) * scale / it.times.len() as f64
        };
        let rate = row("turns a second", "/s", Bound::AtLeast(case.target()), &Measured::rate);
        row("median", "ms", Bound::None, &|it| it.part(0.5));
        row("99 of 100", "ms", Bound::AtMost(SLOWEST), &|it| it.part(0.99));
        row("CPU here", "us", Bound::None, &each(|it| it.usage.client.cpu, 1e6));
        row("CPU of the server", "us", Bound::None, &each(|it| it.usage.server.cpu, 1e6));
        row("switches here", "", Bound::None, &each(|it| it.usage.client.switches, 1.0));
        row("switches of the server", "", Bound::None, &each(|it| it.usage.server.switches, 1.0));
        row(
            "written",
            "KiB",
            Bound::None,
            &each(|it| it.usage.client.written + it.usage.server.written, 1.0 / 1024.0),
        );
        rate
    }

    /// Adds the rates of more chats, beside those of the fewest chats with as many tasks.
    pub(crate) fn flatness(&mut self, rates: &[(Case, f64)]) {
        for (case, rate) in rates {
            let first = rates.iter().find(|(first, _)| first.tasks == case.tasks);
            let Some((first, base)) = first.filter(|(first, _)| first.chats < case.chats) else {
                continue;
            };
            let what = format!("{case}: against {} chats", first.chats);
            self.row(&what, case.chats, [*rate, *base, rate / base], "/s", Bound::AtLeast(FLAT));
        }
    }

    /// Adds the memory of kept engines, from that of the process before and after.
    pub(crate) fn kept_engines(&self, case: Case, before: f64, after: f64) {
        let each = (after - before) / case.chats as f64 / 1024.0;
        self.note(&format!("{case}: {each:.1} KiB for each of {} kept engines", case.chats));
    }

    /// Adds a minute of a long run.
    pub(crate) fn minute(&self, case: Case, minute: &Minute) {
        let Minute { number, measured, client, server } = minute;
        let mib = |bytes: &f64| bytes / 1024.0 / 1024.0;
        self.note(&format!(
            "{case}: minute {number}: {:.0} turns/s, median {:.1} ms, 99 of 100 {:.1} ms, all {:.0} \
             ms, {:.0} MiB here, {:.0} MiB of the server",
            measured.rate(),
            measured.part(0.5),
            measured.part(0.99),
            measured.part(1.0),
            mib(client),
            mib(server),
        ));
    }

    /// Compares the last minute of a long run with the second.
    pub(crate) fn soaked(&mut self, case: Case, minutes: &[Minute]) {
        let (Some(second), Some(last)) = (minutes.get(1), minutes.last()) else { return };
        let [ours, floor] = [last, second].map(|minute| minute.measured.rate());
        let bound = Bound::AtLeast(1.0 - STEADY);
        self.row(
            &format!("{case}: last minute against the second"),
            case.chats,
            [ours, floor, ours / floor],
            "/s",
            bound,
        );
        let [ours, floor] = [last, second].map(|minute| (minute.client + minute.server) / 1024.0);
        let bound = Bound::AtMost(1.0 + STEADY);
        self.row(
            &format!("{case}: memory, last minute against the second"),
            case.chats,
            [ours, floor, ours / floor],
            "KiB",
            bound,
        );
    }

    fn row(&mut self, case: &str, n: usize, values: [f64; 3], unit: &'static str, bound: Bound) {
        let [ours, floor, ratio] = values.map(round);
        if bound.is_missed(ratio) {
            self.missed.push(format!("{case} at {n}"));
        }
        if self.json {
            let target = bound.target();
            let line = Line { area: "load", case, n, ours, floor, unit, ratio, target };
            println!("{}", serde_json::to_string(&line).unwrap());
        } else {
            let [ours, floor] = [ours, floor].map(|value| format!("{value:.1} {unit}"));
            let bound = bound.to_string();
            println!("{case:<60} {n:>7} {ours:>13} {floor:>13} {ratio:>6.2} {bound:>7}");
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
            println!("\nmissed: {}", self.missed.join("; "));
        }
        !self.missed.is_empty()
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
