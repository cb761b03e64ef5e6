//! A day: a seed and its steps, run to the end or to the first broken invariant.

use std::fmt;

use crate::failure::DayFailure;
use crate::planted::PlantedDefect;
use crate::process::Subject;
use crate::resident::ResidentMemory;
use crate::schedule::Schedule;
use crate::shrink::Shrinker;
use crate::step::DayStep;
use crate::world::World;

/// The most shorter days that are tried.
const TRIES: usize = 400;

/// A day to be run.
#[derive(Clone, Copy, Debug)]
pub struct Day {
    /// The seed.
    pub seed: u64,
    /// The number of steps.
    pub steps: u64,
    /// The store.
    pub subject: Subject,
    /// A fault of the library, to show that it is noticed.
    pub planted: Option<PlantedDefect>,
}

/// The report of a run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DayReport {
    /// The number of steps that were taken.
    pub steps: u64,
    /// The number of these that had an effect.
    pub effective: u64,
    /// The number of requests to providers.
    pub requests: u64,
    /// A hash of all requests and replies.
    pub digest: u64,
    /// The most bytes of memory that the process had in a long run. 0 if they were not measured.
    pub resident: u64,
    /// The first broken invariant, and the number of its step, from 1.
    pub failure: Option<(u64, DayFailure)>,
}

/// The shortest known list of steps after which an invariant is broken.
#[derive(Clone, Debug)]
pub struct Story {
    seed: u64,
    steps: Vec<(u64, DayStep)>,
    notes: Vec<String>,
    failure: DayFailure,
}

impl Day {
    /// Creates a day of this seed and number of steps, over the store in memory.
    pub fn new(seed: u64, steps: u64) -> Self {
        Self { seed, steps, subject: Subject::default(), planted: None }
    }

    /// Runs the day. `watch` is told of each step and its effect.
    pub fn run(&self, watch: impl FnMut(u64, &DayStep, &str)) -> anyhow::Result<DayReport> {
        let steps = (1..).zip(Schedule::new(self.seed)).take(usize::try_from(self.steps)?);
        self.run_steps(steps, watch)
    }

    /// Runs some of the steps of the seed, by their numbers.
    pub fn replay(
        &self,
        numbers: &[u64],
        watch: impl FnMut(u64, &DayStep, &str),
    ) -> anyhow::Result<DayReport> {
        let last = numbers.iter().max().copied().unwrap_or_default();
        let steps = (1..).zip(Schedule::new(self.seed)).take(usize::try_from(last)?);
        self.run_steps(steps.filter(|(number, _)| numbers.contains(number)), watch)
    }

    fn run_steps(
        &self,
        steps: impl Iterator<Item = (u64, DayStep)>,
        mut watch: impl FnMut(u64, &DayStep, &str),
    ) -> anyhow::Result<DayReport> {
        let mut world = World::new(self.subject, self.planted)?;
        let mut report = DayReport::default();
        let mut last = 0;
        let mut memory = ResidentMemory::default();
        for (number, step) in steps {
            last = number;
            report.steps += 1;
            match world.take(&step).and_then(|note| memory.watch(report.steps).map(|()| note)) {
                Ok(note) => {
                    report.effective += u64::from(!note.is_empty());
                    watch(number, &step, &note);
                }
                Err(failure) => {
                    watch(number, &step, "broken");
                    report.failure = Some((number, failure));
                    break;
                }
            }
        }
        if report.failure.is_none()
            && let Err(failure) = world.finish()
        {
            report.failure = Some((last, failure));
        }
        (report.requests, report.digest) = world.digest();
        report.resident = memory.most;
        Ok(report)
    }

    /// Shortens a failing day to a story. `None` if the day does not fail.
    pub fn story(&self) -> anyhow::Result<Option<Story>> {
        let mut steps = Vec::new();
        let report = self.run(|number, step, note| steps.push((number, *step, note.is_empty())))?;
        let Some((_, failure)) = report.failure else { return Ok(None) };
        let fails = |fewer: &[(u64, DayStep, bool)]| {
            let steps = fewer.iter().map(|(number, step, _)| (*number, *step));
            let report = self.run_steps(steps, |_, _, _| ()).ok()?;
            let (_, other) = report.failure?;
            (other.invariant == failure.invariant).then(|| usize::try_from(report.steps).ok())?
        };
        let mut shrinker = Shrinker::new(TRIES, fails);
        // Most days fail in one chat, and many kinds of steps have no part in it.
        steps = shrinker.by_key(steps, |(_, _, is_idle)| is_idle.then_some(()));
        steps = shrinker.by_key(steps, |(_, step, _)| step.user());
        steps = shrinker.by_key(steps, |(_, step, _)| step.chat());
        steps = shrinker.by_key(steps, |(_, step, _)| Some(std::mem::discriminant(step)));
        let steps = shrinker.by_runs(steps);
        let steps: Vec<_> = steps.into_iter().map(|(number, step, _)| (number, step)).collect();
        let mut notes = Vec::new();
        let report =
            self.run_steps(steps.iter().copied(), |_, _, note| notes.push(note.to_owned()))?;
        let failure = report.failure.map_or(failure, |(_, failure)| failure);
        Ok(Some(Story { seed: self.seed, steps, notes, failure }))
    }
}

impl Story {
    /// The numbers of its steps.
    pub fn numbers(&self) -> Vec<u64> {
        self.steps.iter().map(|(number, _)| *number).collect()
    }

    /// The broken invariant.
    pub fn failure(&self) -> &DayFailure {
        &self.failure
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (_, step)) in self.steps.iter().enumerate() {
            let note = self.notes.get(at).map_or("", String::as_str);
            writeln!(f, "{}. {step}: {note}", at + 1)?;
        }
        writeln!(f, "{}", self.failure)?;
        let numbers: Vec<_> = self.numbers().iter().map(u64::to_string).collect();
        write!(f, "replay: --seed {} --keep {}", self.seed, numbers.join(","))
    }
}
