//! Sources of time and of fresh ids.
//!
//! Both are injected, so that a run can be reproduced byte for byte. This crate has no
//! implementation that reads a clock or a random source. The facade has them (`SystemClock`,
//! `Uuid7Ids`), and the conformance kit has fixed ones.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A time in microseconds since 1970-01-01 UTC, the unit of every timestamp in a store.
///
/// ```
/// use context_core::Timestamp;
///
/// let time = Timestamp::from_micros(1_795_269_540_000_000);
/// assert_eq!(time.to_minute(), "2026-11-21 13:59");
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates a timestamp from microseconds since 1970-01-01 UTC.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns the microseconds since 1970-01-01 UTC.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns the day in UTC, `YYYY-MM-DD`.
    pub fn to_day(self) -> String {
        // Howard Hinnant's civil_from_days: years begin in March, so that the leap day comes last.
        let days = self.0.div_euclid(86_400_000_000) + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = year + era * 400 + i64::from(month <= 2);
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// Returns the minute in UTC, `YYYY-MM-DD HH:MM`.
    pub fn to_minute(self) -> String {
        let minutes = self.0.div_euclid(60_000_000).rem_euclid(24 * 60);
        format!("{} {:02}:{:02}", self.to_day(), minutes / 60, minutes % 60)
    }
}

/// A source of the current time. Contract with implementors: never go backwards by more than the
/// host's clock does, and do not block.
///
/// ```
/// use context_core::{Clock, Timestamp};
///
/// /// A fixed time, for tests.
/// #[derive(Debug)]
/// struct AtNoon;
///
/// impl Clock for AtNoon {
///     fn now(&self) -> Timestamp {
///         Timestamp::from_micros(12 * 3_600_000_000)
///     }
/// }
///
/// assert_eq!(AtNoon.now().to_minute(), "1970-01-01 12:00");
/// ```
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// A source of fresh ids. Contract with implementors: never return the same text twice, not even in
/// two processes. The text is at most [`limits::MAX_ID_BYTES`](crate::base::limits::MAX_ID_BYTES)
/// long. Callers must not derive an order from ids.
pub trait IdGenerator: fmt::Debug + Send + Sync + 'static {
    /// Returns a fresh id.
    fn next_id(&self) -> String;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        assert_eq!(at(0).to_minute(), "1970-01-01 00:00");
        assert_eq!(at(-1).to_minute(), "1969-12-31 23:59");
        assert_eq!(at(951_782_400).to_day(), "2000-02-29");
        assert_eq!(at(1_795_269_599).to_day(), "2026-11-21");
    }

    /// Counts day by day through a complete leap-year cycle, from before 1970 to after it.
    #[test]
    fn every_day_of_four_centuries_is_the_one_behind_the_day_before() {
        let (mut year, mut month, mut day) = (1_800, 1, 1);
        for days in -62_091_i64..-62_091 + 146_097 {
            let shown = Timestamp::from_micros(days * 86_400_000_000).to_day();
            assert_eq!(shown, format!("{year:04}-{month:02}-{day:02}"));
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + i32::from(is_leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (2_200, 1, 1));
    }
}
