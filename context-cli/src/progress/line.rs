//! The line that shows how far work is: phase, completed steps, rate, and the remaining time.

use std::time::{Duration, Instant};

use bytesize::ByteSize;

use crate::text::{count, grouped};

/// The time after which rates and remaining times are meaningful.
const MEASURED: Duration = Duration::from_secs(1);

/// The largest number of characters of a phase.
const LONGEST: usize = 40;

/// The state of work in phases.
pub(super) struct Work {
    /// The start of the work.
    pub(super) begun: Instant,
    pub(super) has_ended: bool,
    pub(super) was_shown: bool,
    pub(super) phase: String,
    /// The start of the phase.
    since: Instant,
    /// A noun for the steps. Without it, they are not shown.
    noun: Option<&'static str>,
    pub(super) done: u64,
    total: Option<u64>,
    /// The number of steps of a kind that is reported later.
    pub(super) expected: Option<(&'static str, u64)>,
    /// The items that consist of steps: a noun, the completed ones, and all.
    pub(super) items: Option<(&'static str, u64, u64)>,
    /// The completed part, if the steps do not tell it.
    pub(super) part: Option<f64>,
}

impl Work {
    pub(super) fn new(phase: String, now: Instant) -> Self {
        let (noun, total, expected, items, part) = (None, None, None, None, None);
        let (has_ended, was_shown, done) = (false, false, 0);
        let phase = shortened(phase);
        Self {
            begun: now,
            has_ended,
            was_shown,
            phase,
            since: now,
            noun,
            done,
            total,
            expected,
            items,
            part,
        }
    }

    /// Begins a phase.
    pub(super) fn begin(&mut self, phase: String, now: Instant) {
        let Self { begun, was_shown, .. } = *self;
        *self = Self { begun, was_shown, ..Self::new(phase, now) };
    }

    pub(super) fn steps(&mut self, noun: &'static str, total: Option<u64>) {
        (self.noun, self.total) = (Some(noun), total);
    }

    /// Sets the completed steps. Other steps than before are a phase of their own.
    pub(super) fn reported(&mut self, noun: &'static str, done: u64, now: Instant) {
        if self.noun != Some(noun) {
            let total = self.expected.filter(|(expected, _)| *expected == noun);
            (self.noun, self.total, self.since) = (Some(noun), total.map(|(_, n)| n), now);
        }
        self.done = done;
    }

    /// Returns the completed part of the phase, from 0 to 1, if it is known.
    pub(super) fn completed(&self) -> Option<f64> {
        let of_steps = || match self.total {
            None | Some(0) => None,
            Some(total) => Some(self.done as f64 / total as f64),
        };
        self.part.or_else(of_steps).map(|part| part.clamp(0.0, 1.0))
    }

    /// Returns the line.
    pub(super) fn text(&self, now: Instant) -> String {
        let elapsed = now.saturating_duration_since(self.since);
        // The end of the line may not fit the terminal, so the time comes before the rate.
        let mut facts = Vec::new();
        if let Some((noun, done, total)) = self.items {
            facts.push(format!("{} of {}", grouped(done), counted(total, noun)));
        }
        let is_measured = elapsed >= MEASURED;
        // When all is done, the end is near, but nobody knows how near.
        let is_known = |part: &f64| is_measured && *part > 0.0 && *part < 1.0;
        let time = match self.completed().filter(is_known) {
            Some(part) => {
                let left = elapsed.as_secs_f64() * (1.0 - part) / part;
                format!("{} left", duration(Duration::try_from_secs_f64(left).unwrap_or_default()))
            }
            None => duration(elapsed),
        };
        match (self.noun, self.total) {
            (None, _) => {}
            (Some(noun), Some(total)) if total > 0 => {
                let done = amount(self.done.min(total), noun);
                facts.push(format!("{done} of {}", counted(total, noun)));
            }
            (Some(noun), _) if self.done > 0 => facts.push(counted(self.done, noun)),
            _ => {}
        }
        facts.push(time);
        if let Some(noun) = self.noun.filter(|_| self.done > 0 && is_measured) {
            let rate = (self.done as f64 / elapsed.as_secs_f64()) as u64;
            facts.push(format!("{}/s", amount(rate, noun)));
        }
        format!("{}: {}", self.phase, facts.join(" · "))
    }
}

/// Shortens the name of a phase with the path of a file. The end of a path tells more than its
/// start.
fn shortened(phase: String) -> String {
    let length = phase.chars().count();
    match phase.split_once(' ') {
        Some((verb, _)) if length > LONGEST => {
            // The verb, a space and the sign for what is left out remain.
            let skipped = length - (LONGEST - verb.chars().count() - 2).min(length);
            let end: String = phase.chars().skip(skipped).collect();
            format!("{verb} …{end}")
        }
        _ => phase,
    }
}

/// The noun of steps that are shown as a size.
const BYTE: &str = "byte";

fn amount(n: u64, noun: &str) -> String {
    if noun == BYTE { ByteSize(n).to_string() } else { grouped(n) }
}

fn counted(n: u64, noun: &str) -> String {
    match noun {
        BYTE => amount(n, noun),
        _ => count(usize::try_from(n).unwrap_or(usize::MAX), noun),
    }
}

/// Returns a duration as `12 s`, `3 min 5 s` or `2 h 10 min`.
pub(super) fn duration(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn a_line_has_the_steps_their_rate_and_the_remaining_time() {
        let start = Instant::now();
        let mut work = Work::new("recording rounds".to_owned(), start);
        assert_eq!(work.text(after(start, 3)), "recording rounds: 3 s");
        work.steps("message", Some(48_000));
        work.done = 12_000;
        assert_eq!(
            work.text(after(start, 3)),
            "recording rounds: 12,000 of 48,000 messages · 9 s left · 4,000/s"
        );
        // Too early to tell.
        assert_eq!(work.text(start), "recording rounds: 12,000 of 48,000 messages · 0 s");
        work.steps("message", None);
        assert_eq!(work.text(after(start, 4)), "recording rounds: 12,000 messages · 4 s · 3,000/s");
        work.items = Some(("file", 1, 1204));
        work.part = Some(0.01);
        assert_eq!(
            work.text(after(start, 2)),
            "recording rounds: 1 of 1,204 files · 12,000 messages · 3 min 18 s left · 6,000/s"
        );
        work.part = Some(2.0);
        assert_eq!(work.completed(), Some(1.0));
    }

    #[test]
    fn bytes_are_shown_as_sizes_and_the_end_as_the_time_until_then() {
        let start = Instant::now();
        let mut work = Work::new("writing".to_owned(), start);
        work.steps("byte", Some(40 << 20));
        work.done = 30 << 20;
        assert_eq!(
            work.text(after(start, 3)),
            "writing: 30.0 MiB of 40.0 MiB · 1 s left · 10.0 MiB/s"
        );
        work.done = 41 << 20;
        assert_eq!(work.text(after(start, 4)), "writing: 40.0 MiB of 40.0 MiB · 4 s · 10.2 MiB/s");
    }

    #[test]
    fn a_phase_and_other_steps_begin_at_zero() {
        let start = Instant::now();
        let mut work = Work::new("checking".to_owned(), start);
        work.reported("row", 100, after(start, 9));
        assert_eq!(work.text(after(start, 10)), "checking: 100 rows · 1 s · 100/s");
        work.reported("message", 20, after(start, 10));
        assert_eq!(work.text(after(start, 12)), "checking: 20 messages · 2 s · 10/s");
        work.begin("comparing".to_owned(), after(start, 12));
        assert_eq!(work.text(after(start, 13)), "comparing: 1 s");
        assert_eq!(work.begun, start);
    }

    #[test]
    fn a_long_path_keeps_its_end() {
        let path = format!("importing /{}sessions/one.jsonl", "deep/".repeat(20));
        let work = Work::new(path, Instant::now());
        assert_eq!(work.phase, "importing …/deep/deep/sessions/one.jsonl");
    }

    #[test]
    fn durations_have_two_units_at_most() {
        let text = |seconds| duration(Duration::from_secs(seconds));
        assert_eq!([text(0), text(59), text(61)], ["0 s", "59 s", "1 min 1 s"]);
        assert_eq!([text(3599), text(7800)], ["59 min 59 s", "2 h 10 min"]);
    }
}
