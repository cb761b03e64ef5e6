//! Parsing of dates.

use context_core::Timestamp;

const DAY: i64 = 86_400_000_000;

/// Returns the start of a UTC day in the form `YYYY-MM-DD`, or `None` if there is no such day.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let mut parts = text.split('-');
    let mut number = |digits: usize| {
        let part = parts
            .next()
            .filter(|part| part.len() == digits && part.bytes().all(|b| b.is_ascii_digit()))?;
        part.parse::<i64>().ok()
    };
    let (year, month, day) = (number(4)?, number(2)?, number(2)?);
    if !(1..=12).contains(&month) {
        return None;
    }
    // Years start in March, so that the leap day is the last: the inverse of `Timestamp::to_day`.
    let (year_of, month_of) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year_of.div_euclid(400), year_of.rem_euclid(400));
    let of_year = (153 * month_of + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let at = Timestamp::from_micros(days * DAY);
    // A day beyond the end of its month, or a longer text, does not round-trip.
    (at.to_day() == text).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_as_they_are_written_and_others_are_none() {
        for day in
            ["1970-01-01", "2000-02-29", "2026-03-01", "1969-12-31", "9999-12-31", "0001-01-01"]
        {
            assert_eq!(parse(day).map(Timestamp::to_day).as_deref(), Some(day));
        }
        for none in [
            "2026-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-01-32",
            "2026-1-1",
            "2026-01-01-",
            "",
            "+026-01-01",
        ] {
            assert_eq!(parse(none), None, "{none}");
        }
    }
}
