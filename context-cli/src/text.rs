//! Text for people: one-line previews, short ids, times, all without characters that could control
//! a terminal.

use std::time::Duration;

use context_runtime::Timestamp;
#[cfg(test)]
pub(crate) use context_runtime::display::is_hidden;
pub(crate) use context_runtime::display::{
    boundary, clean, clean_lines, count, grouped, node_line, node_preview, part, preview, role,
    short_id,
};
use jiff::SpanRelativeTo;
use unicode_width::UnicodeWidthStr;

/// Replaces each run of white space by one space.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_whitespace() && line.ends_with(' ') => {}
            c if c.is_whitespace() => line.push(' '),
            c => line.push_str(&clean(c.encode_utf8(&mut [0; 4]))),
        }
    }
    line
}

/// Returns a time in RFC 3339.
pub(crate) fn time(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.as_micros()) {
        Ok(time) => time.to_string(),
        Err(_) => format!("{} µs", at.as_micros()),
    }
}

/// Returns a time in RFC 3339 to the second, in UTC.
pub(crate) fn full_time(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.as_micros()) {
        Ok(time) => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Err(_) => time(at),
    }
}

/// Returns the distance of a time from now in words, such as `5 minutes ago`.
pub(crate) fn ago(now: Timestamp, at: Timestamp) -> String {
    const UNITS: [(u64, &str); 7] = [
        (365 * 86_400, "year"),
        (30 * 86_400, "month"),
        (7 * 86_400, "week"),
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
        (1, "second"),
    ];
    let seconds = now.as_micros().abs_diff(at.as_micros()) / 1_000_000;
    let Some((unit, name)) = UNITS.into_iter().find(|(unit, _)| seconds >= *unit) else {
        return "now".to_owned();
    };
    let distance = count(usize::try_from(seconds / unit).unwrap_or(usize::MAX), name);
    match at > now {
        true => format!("in {distance}"),
        false => format!("{distance} ago"),
    }
}

/// The error for an invalid limit.
#[derive(Debug, thiserror::Error)]
#[error("not a number of things to show; write 1 or more")]
pub(crate) struct InvalidLimit;

/// Parses a limit, which must be positive.
pub(crate) fn parse_limit(text: &str) -> Result<usize, InvalidLimit> {
    text.parse().ok().filter(|limit| *limit > 0).ok_or(InvalidLimit)
}

/// The error for an invalid duration.
#[derive(Debug, thiserror::Error)]
#[error("not a duration; write it such as 36h, 90d or 2w")]
pub(crate) struct InvalidDuration;

/// Parses a duration such as `36h`, `90d` or `2w`, or in ISO 8601.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, InvalidDuration> {
    let span: jiff::Span = text.parse().map_err(|_| InvalidDuration)?;
    // Months and years have no fixed length, so they are refused.
    let length =
        span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| InvalidDuration)?;
    Duration::try_from(length).map_err(|_| InvalidDuration)
}

/// The error for an invalid time.
#[derive(Debug, thiserror::Error)]
#[error("not a point in time; write it such as 2026-03-01 or 2026-03-01T09:30:00Z")]
pub(crate) struct InvalidTime;

/// Parses a time: a day, a day with a time of day, both in UTC, or RFC 3339.
pub(crate) fn parse_time(text: &str) -> Result<Timestamp, InvalidTime> {
    let civil = |text: &str| {
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    };
    let time = text.parse().ok().or_else(|| civil(text)).ok_or(InvalidTime)?;
    Ok(Timestamp::from_micros(jiff::Timestamp::as_microsecond(time)))
}

/// Lists the numbers of chats, messages, blobs, streams, rounds and memories. Kinds after messages
/// are listed only if present, because not every store supports them.
pub(crate) fn holdings(counts: [u64; 6]) -> String {
    let names = ["chat", "message", "blob", "stream", "round", "memory"];
    let shown = counts.iter().zip(names).enumerate().filter(|(i, (n, _))| *i < 2 || **n > 0);
    let counted = shown.map(|(_, (n, one))| count(usize::try_from(*n).unwrap_or(usize::MAX), one));
    counted.collect::<Vec<_>>().join(", ")
}

/// Breaks a text between words, so that it fits into the columns behind an indent. Without a number
/// of columns, it stays one line.
pub(crate) fn filled(text: &str, indent: usize, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return text.to_owned() };
    let (mut filled, mut at) = (String::with_capacity(text.len()), indent);
    for word in text.split(' ') {
        if at > indent {
            let fits = at + 1 + word.width() <= columns;
            filled.push_str(&if fits { " ".to_owned() } else { format!("\n{:indent$}", "") });
            at = if fits { at + 1 } else { indent };
        }
        filled.push_str(word);
        at += word.width();
    }
    filled
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::borrow::Cow;

    use super::*;

    #[test]
    fn a_text_is_broken_between_words_behind_its_indent() {
        assert_eq!(filled("one two three", 4, None), "one two three");
        assert_eq!(filled("one two three", 4, Some(11)), "one two\n    three");
        // Each of these characters is two columns wide.
        assert_eq!(filled("二二 二 三", 2, Some(7)), "二二\n  二 三");
        assert_eq!(filled("a-word-that-is-longer is", 2, Some(8)), "a-word-that-is-longer\n  is");
    }

    #[test]
    fn names_are_one_line_and_show_what_cannot_be_seen() {
        assert_eq!(clean_lines("a\tb\nc\u{7}"), "a\tb\nc\\u0007");
        assert_eq!(clean("a\nb\r\u{202e}c"), r"a\nb\r\u202ec");
        assert_eq!(
            clean("\u{9b}2J\u{2066}\u{2028}\u{200b}\u{e0041}"),
            r"\u009b2J\u2066\u2028\u200b\udb40\udc41"
        );
        for plain in ["naïve façade", "日本語", "عربى", "a ~ b", "❤️ 🚆"] {
            assert!(matches!(clean(plain), Cow::Borrowed(_)), "{plain}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_hides_nothing_and_json_stays_what_it_was(text in any::<String>()) {
            prop_assert!(!clean(&text).contains(is_hidden));
            prop_assert!(!clean_lines(&text).replace(['\n', '\t'], "").contains(is_hidden));
            let json = serde_json::Value::from(text).to_string();
            let shown = clean(&json);
            prop_assert_eq!(shown.parse::<serde_json::Value>().ok(), json.parse().ok());
        }
    }

    #[test]
    fn times_are_told_by_their_distance() {
        let now = Timestamp::from_micros(1_767_225_600_000_000);
        let told =
            |seconds: i64| ago(now, Timestamp::from_micros(now.as_micros() - seconds * 1_000_000));
        assert_eq!([told(0), told(1), told(59)], ["now", "1 second ago", "59 seconds ago"]);
        assert_eq!([told(60), told(7_199)], ["1 minute ago", "1 hour ago"]);
        assert_eq!([told(86_400), told(13 * 86_400)], ["1 day ago", "1 week ago"]);
        assert_eq!([told(59 * 86_400), told(800 * 86_400)], ["1 month ago", "2 years ago"]);
        assert_eq!(
            [told(-90), ago(now, Timestamp::from_micros(i64::MIN))],
            ["in 1 minute", "292,527 years ago"]
        );
    }

    #[test]
    fn lengths_of_time_are_read_as_people_write_them() {
        let seconds = |text: &str| parse_duration(text).ok().map(|length| length.as_secs());
        assert_eq!(seconds("90d"), Some(90 * 86_400));
        assert_eq!(seconds("2w"), Some(14 * 86_400));
        assert_eq!(
            (seconds("36h"), seconds("0s"), seconds("PT5M")),
            (Some(129_600), Some(0), Some(300))
        );
        assert_eq!([seconds("90"), seconds("3 months"), seconds("-1d"), seconds("")], [None; 4]);
    }

    #[test]
    fn moments_are_read_as_people_write_them() {
        let read = |text: &str| parse_time(text).ok().map(time);
        let day = Some("2026-03-01T00:00:00Z".to_owned());
        assert_eq!([read("2026-03-01"), read("2026-03-01T01:00:00+01:00")], [day.clone(), day]);
        assert_eq!(read("2026-03-01 09:30"), Some("2026-03-01T09:30:00Z".to_owned()));
        assert_eq!(
            [read("2026-02-29"), read("yesterday"), read("1d"), read("")],
            [None, None, None, None]
        );
    }

    #[test]
    fn pieces_of_text_keep_the_spaces_between_them() {
        assert_eq!(one_line(" a\n\n b\t"), " a b ");
        assert_eq!(one_line("\u{1b}x\u{2028}y"), r"\u001bx y");
    }

    #[test]
    fn ids_times_and_counts() {
        assert_eq!(short_id(&"m12".into()), "m12");
        assert_eq!(short_id(&"0198c1d2-7b1e-7c00-8000-00000000abcd".into()), "…0000abcd");
        assert_eq!(time(Timestamp::from_micros(1_500_000)), "1970-01-01T00:00:01.5Z");
        assert_eq!(time(Timestamp::from_micros(i64::MAX)), format!("{} µs", i64::MAX));
        assert_eq!(
            (count(1, "chat"), count(1_234_567, "branch")),
            ("1 chat".into(), "1,234,567 branches".into())
        );
        assert_eq!(holdings([1, 0, 0, 0, 0, 0]), "1 chat, 0 messages");
        assert_eq!(
            holdings([2, 3000, 1, 2, 1, 5]),
            "2 chats, 3,000 messages, 1 blob, 2 streams, 1 round, 5 memories"
        );
    }
}
