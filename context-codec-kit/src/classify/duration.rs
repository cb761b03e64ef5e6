//! Parsing of durations as providers write them: `34.4s`, `1m30s`, `250ms`, `6h0m0s`, `20 seconds`.

use std::time::Duration;

/// Maximum duration. A larger number is taken for a mistake.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Parses the duration at the start of a text, and returns its length in bytes.
pub(super) fn read(text: &str) -> Option<(Duration, usize)> {
    let (mut milliseconds, mut at) = (0.0, 0);
    loop {
        let rest = &text[at..];
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let after = &rest[digits..];
        let spaces = after.len() - after.trim_start_matches(' ').len();
        let word = &after[spaces..];
        let letters = word.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(word.len());
        // After the first component, the others must follow without a space.
        let read = rest[..digits].parse::<f64>().ok().zip(unit(&word[..letters]));
        match read.filter(|_| at == 0 || spaces == 0) {
            Some((number, unit)) => {
                milliseconds += number * unit;
                at += digits + spaces + letters;
            }
            None if at == 0 => return None,
            None => return Some((limited(milliseconds)?, at)),
        }
    }
}

/// Converts a number of units, each this many milliseconds long.
pub(super) fn of(number: &str, unit: f64) -> Option<Duration> {
    limited(number.parse::<f64>().ok()? * unit)
}

fn limited(milliseconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(milliseconds / 1_000.0)
        .ok()
        .filter(|wait| *wait <= LONGEST)
        .map(rounded)
}

/// Rounds up to whole milliseconds. Digits below are floating-point noise, and too short a wait
/// fails.
fn rounded(wait: Duration) -> Duration {
    let micros = (wait.as_nanos() + 500) / 1_000;
    Duration::from_millis(u64::try_from(micros.div_ceil(1_000)).unwrap_or(u64::MAX))
}

/// Returns a unit in milliseconds.
fn unit(word: &str) -> Option<f64> {
    Some(match word.to_ascii_lowercase().as_str() {
        "ms" | "millisecond" | "milliseconds" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
        "h" | "hour" | "hours" => 3_600_000.0,
        "d" | "day" | "days" => 86_400_000.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_however_they_are_written() {
        for (text, milliseconds) in [
            ("34.4s", 34_400),
            ("1m30s.", 90_000),
            ("6h0m0s", 21_600_000),
            ("250ms", 250),
            ("20 seconds or so", 20_000),
            ("34.074824224s", 34_075),
            ("1 minute", 60_000),
        ] {
            assert_eq!(
                read(text).map(|(wait, _)| wait),
                Some(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
        for text in ["", "soon", "5 apples", "1e99s", "99999999999999999999d", ".s", "-1s"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(of("1.5", 1_000.0), Some(Duration::from_millis(1_500)));
        assert_eq!(of("NaN", 1_000.0), None);
    }
}
