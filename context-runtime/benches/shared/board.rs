//! Paired rounds and their output, shared by every benchmark.
//!
//! Rounds are paired: each runs ours and the floor one after the other, the ratio is taken within
//! the round, and the median over all rounds is printed, so a machine that slows down half-way does
//! not matter.

use std::future::Future;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// The rows of a run.
pub(crate) struct Board {
    area: &'static str,
    json: bool,
    /// The clock that decides.
    clock: Clock,
    missed: Vec<String>,
}

/// A way to measure time.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Clock {
    /// CPU time of all threads of this process.
    Cpu,
    /// Wall time, for work in a server whose CPU time is not ours.
    Wall,
}

/// One case: ours and its floor, round by round.
pub(crate) struct Row {
    case: &'static str,
    n: usize,
    unit: &'static str,
    target: Option<f64>,
    warm_up: usize,
    ours: Vec<Cost>,
    floor: Vec<Cost>,
}

#[derive(Clone, Copy)]
struct Cost {
    cpu: f64,
    wall: f64,
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
    /// The clock of the figures above.
    clock: Clock,
    ratio_cpu: f64,
    ratio_wall: f64,
}

impl Board {
    /// Creates a board that judges by CPU time.
    #[allow(dead_code, reason = "not every program measures by this clock")]
    pub(crate) fn new(area: &'static str, json: bool) -> Self {
        Self::by(Clock::Cpu, area, json)
    }

    /// Creates a board that judges by wall time.
    #[allow(dead_code, reason = "not every program measures by this clock")]
    pub(crate) fn by_wall(area: &'static str, json: bool) -> Self {
        Self::by(Clock::Wall, area, json)
    }

    fn by(clock: Clock, area: &'static str, json: bool) -> Self {
        if !json {
            let (case, other) = match clock {
                Clock::Cpu => ("case (CPU time)", "wall"),
                Clock::Wall => ("case (wall time)", "CPU"),
            };
            println!(
                "{case:<44} {:>9} {:>14} {:>14} {:>7} {:>7} {other:>7}",
                "n", "ours", "floor", "ratio", "target"
            );
        }
        Self { area, json, clock, missed: Vec::new() }
    }

    pub(crate) fn add(&mut self, row: Row) {
        let of = |cost: Cost| if self.clock == Clock::Cpu { cost.cpu } else { cost.wall };
        let ratio = row.median(|ours, floor| of(ours) / of(floor));
        let line = Line {
            area: self.area,
            case: row.case,
            n: row.n,
            ours: round(row.median(|ours, _| of(ours)) * row.scale()),
            floor: round(row.median(|_, floor| of(floor)) * row.scale()),
            unit: row.unit,
            ratio: round(ratio),
            target: row.target,
            clock: self.clock,
            ratio_cpu: round(row.median(|ours, floor| ours.cpu / floor.cpu)),
            ratio_wall: round(row.median(|ours, floor| ours.wall / floor.wall)),
        };
        if line.target.is_some_and(|target| ratio > target) {
            self.missed.push(format!("{} at {}", row.case, row.n));
        }
        if self.json {
            println!("{}", serde_json::to_string(&line).unwrap());
        } else {
            let target = line.target.map_or("-".to_owned(), |target| format!("{target:.2}"));
            println!(
                "{:<44} {:>9} {:>11.1} {} {:>11.1} {} {:>7.2} {:>7} {:>7.2}",
                line.case,
                line.n,
                line.ours,
                line.unit,
                line.floor,
                line.unit,
                line.ratio,
                target,
                if self.clock == Clock::Cpu { line.ratio_wall } else { line.ratio_cpu }
            );
        }
    }

    /// Adds a row, and prints the CPU time of all its operations with a goal, both in milliseconds.
    #[allow(dead_code, reason = "not every program has goals")]
    pub(crate) fn add_with_goal(&mut self, row: Row, goal: f64) {
        let all = row.median(|ours, _| ours.cpu) * row.n as f64 / 1e3;
        self.add(row);
        self.note(&format!("    {all:.1} ms CPU (goal at 10,000: under {goal})"));
    }

    /// Adds a row, and prints what ours costs more than the floor for each of the `parts` of an
    /// operation, in microseconds of CPU time. More than `goal` misses the target.
    #[allow(dead_code, reason = "not every program has parts")]
    pub(crate) fn add_with_share(&mut self, row: Row, parts: f64, part: &str, goal: f64) {
        let share = row.median(|ours, floor| ours.cpu - floor.cpu) / parts;
        if share > goal {
            self.missed.push(format!("{} at {}", row.case, row.n));
        }
        self.add(row);
        self.note(&format!("    {share:.1} us CPU {part} (goal: at most {goal})"));
    }

    /// Prints why rows are missing.
    #[allow(dead_code, reason = "not every program leaves rows out")]
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

impl Row {
    pub(crate) fn new(
        case: &'static str,
        n: usize,
        unit: &'static str,
        target: Option<f64>,
    ) -> Self {
        Self { case, n, unit, target, warm_up: 0, ours: Vec::new(), floor: Vec::new() }
    }

    #[allow(dead_code, reason = "not every program needs it")]
    pub(crate) fn case(&self) -> &'static str {
        self.case
    }

    /// Sets how many rounds only warm caches up.
    #[allow(dead_code, reason = "not every program needs it")]
    pub(crate) fn skip_first(mut self, rounds: usize) -> Self {
        self.warm_up = rounds;
        self
    }

    /// Creates a row of sizes instead of times.
    #[allow(dead_code, reason = "not every program needs it")]
    pub(crate) fn sizes(case: &'static str, n: usize, ours: u64, floor: u64) -> Self {
        let cost =
            |bytes: u64| Cost { cpu: bytes as f64 / n as f64, wall: bytes as f64 / n as f64 };
        Self { ours: vec![cost(ours)], floor: vec![cost(floor)], ..Self::new(case, n, "B ", None) }
    }

    #[allow(dead_code, reason = "not every program needs it")]
    pub(crate) fn with_target(mut self, target: f64) -> Self {
        self.target = Some(target);
        self
    }

    pub(crate) async fn ours(&mut self, operations: usize, work: impl Future<Output = ()>) {
        self.ours.push(measure(operations, work).await);
    }

    pub(crate) async fn floor(&mut self, operations: usize, work: impl Future<Output = ()>) {
        self.floor.push(measure(operations, work).await);
    }

    /// Adds the cost of another row's newest round.
    #[allow(dead_code, reason = "not every program needs it")]
    pub(crate) fn ours_again(&mut self, other: &Self) {
        self.ours.extend(other.ours.last());
    }

    /// Costs are stored in microseconds.
    fn scale(&self) -> f64 {
        if self.unit == "ns" { 1e3 } else { 1.0 }
    }

    fn median(&self, of: impl Fn(Cost, Cost) -> f64) -> f64 {
        let pairs = self.ours.iter().zip(&self.floor).skip(self.warm_up);
        let mut values: Vec<f64> = pairs.map(|(ours, floor)| of(*ours, *floor)).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }
}

/// Returns microseconds per operation: CPU time of all threads of this process, and wall time.
async fn measure(operations: usize, work: impl Future<Output = ()>) -> Cost {
    let (cpu, wall) = (now(ClockId::ProcessCPUTime), now(ClockId::Monotonic));
    work.await;
    let spent =
        |clock, since: Duration| (now(clock) - since).as_secs_f64() * 1e6 / operations as f64;
    Cost { cpu: spent(ClockId::ProcessCPUTime, cpu), wall: spent(ClockId::Monotonic, wall) }
}

fn now(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
