//! Times in files, in RFC 3339.

use context_core::Timestamp;
use serde_json::value::RawValue;

use crate::raw::text_of;

/// Returns the time of a value that is a timestamp string.
pub(crate) fn time_of(raw: &RawValue) -> Option<Timestamp> {
    parse_time(&text_of(raw)?)
}

/// Returns the time of a number of milliseconds since 1970.
pub(crate) fn time_of_millis(raw: &RawValue) -> Option<Timestamp> {
    time_of_number(raw, 1e3)
}

/// Returns the time of a number of seconds since 1970.
pub(crate) fn time_of_seconds(raw: &RawValue) -> Option<Timestamp> {
    time_of_number(raw, 1e6)
}

/// Returns the number of seconds since 1970.
pub(crate) fn seconds_of(at: Timestamp) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "microseconds of today are exact")]
    let micros = at.as_micros() as f64;
    micros / 1e6
}

/// Returns the time of a number, which may have a fraction, of units since 1970. `micros` is the
/// number of microseconds of a unit.
fn time_of_number(raw: &RawValue, micros: f64) -> Option<Timestamp> {
    let number: f64 = serde_json::from_str(raw.get()).ok()?;
    let at = (number * micros).round();
    // Numbers up to this size are exact.
    #[allow(clippy::cast_possible_truncation, reason = "the range is checked")]
    (at.abs() < 9e15).then_some(Timestamp::from_micros(at as i64))
}

/// Returns the time that a text states. A time without a zone is taken as UTC.
pub(crate) fn parse_time(text: &str) -> Option<Timestamp> {
    let time = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let local: jiff::civil::DateTime = text.parse().ok()?;
        Some(local.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    })?;
    Some(Timestamp::from_micros(time.as_microsecond()))
}

/// Writes a time. A time before the year -9999 or after the year 9999 is written as the nearest
/// one that the form can express.
pub(crate) fn format_time(at: Timestamp) -> String {
    let nearest = match at.as_micros() {
        ..0 => jiff::Timestamp::MIN,
        0.. => jiff::Timestamp::MAX,
    };
    jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or(nearest).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_written_and_one_that_is_written_is_read() {
        let at = Timestamp::from_micros(1_500_000);
        assert_eq!(format_time(at), "1970-01-01T00:00:01.5Z");
        assert_eq!(parse_time("1970-01-01T00:00:01.5Z"), Some(at));
        for extreme in [i64::MIN, i64::MAX] {
            assert!(parse_time(&format_time(Timestamp::from_micros(extreme))).is_some());
        }
        assert_eq!(parse_time("1970-01-01T00:00:01.500000"), Some(at));
        assert_eq!(parse_time("yesterday"), None);
    }
}
