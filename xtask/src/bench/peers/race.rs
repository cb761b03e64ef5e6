//! Paired rounds: ours and theirs, alternating.
//!
//! Each round gives a ratio, and the result is the median of all rounds. So a machine that slows
//! down halfway does not matter.

use anyhow::Result;

use super::driver::{Answer, Driver};

/// The cases, with the lengths of their chats.
pub(super) const CASES: [(&str, &[usize]); 5] = [
    ("append", &[100, 1_000, 10_000]),
    ("load", &[100, 1_000, 10_000]),
    ("fork", &[1_000, 10_000]),
    ("resolve", &[100, 1_000, 10_000]),
    ("turn", &[100, 1_000, 10_000]),
];

/// Returns all rows in order: the case, the length of the chat, and the repetitions per round. Long
/// chats get fewer repetitions.
pub(super) fn plan(max: usize) -> impl Iterator<Item = (&'static str, usize, usize)> {
    let rows = CASES.into_iter().flat_map(|(case, sizes)| sizes.iter().map(move |n| (case, *n)));
    rows.filter(move |(_, n)| *n <= max).map(|(case, n)| {
        let times = match case {
            "append" => 16,
            "fork" => (4_000 / n).clamp(1, 4),
            "turn" => (20_000 / n).clamp(2, 8),
            _ => (10_000 / n).clamp(1, 20),
        };
        (case, n, times)
    })
}

/// The result of one peer in one case.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) case: &'static str,
    pub(super) n: usize,
    /// The peer and its setup. For a skipped case, only the name and the reason are known.
    pub(super) theirs: Answer,
    /// The figures of the case, `None` if it is skipped.
    pub(super) cpu: Option<Figures>,
    pub(super) wall: Option<Figures>,
}

/// Medians over all rounds, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(super) struct Figures {
    pub(super) ours: f64,
    pub(super) theirs: f64,
    pub(super) ratio: f64,
}

impl Figures {
    /// Returns the medians of pairs of ours and theirs, or `None` without pairs.
    fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let ours = median(pairs.iter().map(|(ours, _)| *ours))?;
        let theirs = median(pairs.iter().map(|(_, theirs)| *theirs))?;
        Some(Self {
            ours,
            theirs,
            ratio: median(pairs.iter().map(|(ours, theirs)| theirs / ours))?,
        })
    }
}

/// A race of one peer against ours.
pub(super) struct Race<S> {
    theirs: Driver,
    /// Our driver, started once the durability is known.
    ours: Option<Driver>,
    start: S,
    rounds: usize,
    rows: Vec<Row>,
}

impl<S: Fn(&str) -> Result<Driver>> Race<S> {
    pub(super) fn new(theirs: Driver, start: S, rounds: usize) -> Self {
        Self { theirs, ours: None, start, rounds, rows: Vec::new() }
    }

    /// Runs one case. The first answer of each side is a warm-up.
    pub(super) fn row(&mut self, case: &'static str, n: usize, times: usize) -> Result<()> {
        let warm = self.theirs.run(case, n, times)?;
        let (mut cpu, mut wall) = (Vec::new(), Vec::new());
        if warm.skipped.is_none() {
            let ours = match &mut self.ours {
                Some(ours) => ours,
                none => none.insert((self.start)(durability(warm.synchronous))?),
            };
            ours.run(case, n, times)?;
            for _ in 0..self.rounds {
                let (us, them) = (ours.run(case, n, times)?, self.theirs.run(case, n, times)?);
                cpu.push((us.cpu_us, them.cpu_us));
                wall.push((us.wall_us, them.wall_us));
            }
        }
        self.rows.push(Row {
            case,
            n,
            theirs: warm,
            cpu: Figures::of(&cpu),
            wall: Figures::of(&wall),
        });
        Ok(())
    }

    pub(super) fn finish(self) -> Vec<Row> {
        self.rows
    }
}

/// Returns our name for the value of `PRAGMA synchronous`.
fn durability(synchronous: i64) -> &'static str {
    if synchronous >= 2 { "full" } else { "normal" }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::{Figures, durability, plan};

    #[test]
    fn a_ratio_is_taken_within_its_round() {
        // In the second round the machine is ten times slower, for both sides.
        let figures = Figures::of(&[(1.0, 4.0), (10.0, 40.0), (1.0, 4.0)]).unwrap();
        assert_eq!(figures, Figures { ours: 1.0, theirs: 4.0, ratio: 4.0 });
        assert_eq!(Figures::of(&[]), None);
    }

    #[test]
    fn every_row_is_done_at_least_once_a_round() {
        assert_eq!(plan(10_000).count(), 14);
        assert!(plan(10_000).all(|(_, _, times)| times > 0));
        assert_eq!(plan(100).count(), 4);
    }

    #[test]
    fn ours_is_as_durable_as_theirs() {
        assert_eq!([0, 1, 2, 3].map(durability), ["normal", "normal", "full", "full"]);
    }
}
