//! Time expressions in a question, as time spans of the answer's record.

use context_core::Timestamp;
use context_store_kit::search;

const DAY: i64 = 86_400_000_000;

/// A half-open time span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span(Timestamp, Timestamp);

impl Span {
    fn days(from: i64, days: i64) -> Self {
        let at = |day: i64| Timestamp::from_micros(day.saturating_mul(DAY));
        Self(at(from), at(from.saturating_add(days)))
    }

    pub(super) fn has(&self, at: Timestamp) -> bool {
        self.0 <= at && at < self.1
    }
}

/// Returns the time spans that a question names: days (`2023-05-07`, `7 May 2023`), months
/// (`May 2023`) and years. If the time of the question is known, also `yesterday`, `today`,
/// `last week`, `last month`, `last year`, and months without a year, which mean the most recent
/// one.
pub(super) fn named(question: &str, asked_at: Option<Timestamp>) -> Vec<Span> {
    let words: Vec<String> = search::words(question).map(|word| word.folded).collect();
    let number = |at: usize| {
        words.get(at).and_then(|word| {
            word.trim_end_matches(['s', 't', 'n', 'd', 'r', 'h']).parse::<i64>().ok()
        })
    };
    let year = |at: usize| number(at).filter(|year| (1900..2200).contains(year));
    let day = |at: usize| number(at).filter(|day| (1..=31).contains(day));
    let today = asked_at.map(|at| at.as_micros().div_euclid(DAY));
    let mut spans = Vec::new();
    let mut taken = vec![false; words.len()];
    for (at, word) in words.iter().enumerate() {
        let span = match month(word) {
            // `may` alone is more often a verb.
            Some(month) => {
                let before = at.checked_sub(1).and_then(day);
                let (day, after) = match before {
                    Some(day) => (Some(day), at + 1),
                    None => day(at + 1).map_or((None, at + 1), |day| (Some(day), at + 2)),
                };
                let named_year = year(after);
                if named_year.is_some() {
                    taken[after] = true;
                }
                let last = || {
                    today
                        .filter(|_| word != "may" || day.is_some())
                        .map(|today| last_year_of(month, today))
                };
                named_year.or_else(last).map(|year| match day {
                    Some(day) => Span::days(days(year, month, day), 1),
                    None => of_month(year, month),
                })
            }
            None => relative(word, at.checked_sub(1).map(|before| words[before].as_str()), today),
        };
        spans.extend(span);
    }
    for (at, is_taken) in taken.iter().enumerate() {
        if *is_taken {
            continue;
        }
        if let Some(year) = year(at) {
            let iso = number(at + 1).filter(|month| (1..=12).contains(month)).zip(day(at + 2));
            spans.push(match iso {
                Some((month, day)) if words[at + 1].len() == 2 => {
                    Span::days(days(year, month, day), 1)
                }
                _ => Span::days(days(year, 1, 1), days(year + 1, 1, 1) - days(year, 1, 1)),
            });
        }
    }
    spans
}

/// Returns the span of a relative expression: `yesterday`, `week` after `last`, and so on.
fn relative(word: &str, before: Option<&str>, today: Option<i64>) -> Option<Span> {
    let today = today?;
    let (from, length) = match (before, word) {
        (_, "today") => (today, 1),
        (_, "yesterday") => (today - 1, 1),
        // 1970-01-01 was a Thursday; weeks start on Mondays.
        (Some("last"), "week") => ((today + 3).div_euclid(7) * 7 - 3 - 7, 7),
        (Some("last"), "month") => (today - 31 - 15, 46),
        (Some("last"), "year") => (today - 365 - 183, 365 + 183),
        _ => return None,
    };
    Some(Span::days(from, length))
}

fn month(word: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let at = MONTHS.iter().position(|month| *month == word)?;
    i64::try_from(at + 1).ok()
}

fn of_month(year: i64, month: i64) -> Span {
    let from = days(year, month, 1);
    let next = if month == 12 { days(year + 1, 1, 1) } else { days(year, month + 1, 1) };
    Span::days(from, next - from)
}

/// Returns the year of the most recent month of this number that has begun.
fn last_year_of(month: i64, today: i64) -> i64 {
    let mut year = 1970 + today.div_euclid(365) + 1;
    while days(year, month, 1) > today {
        year -= 1;
    }
    year
}

/// Returns the days since 1970-01-01, by Howard Hinnant's `days_from_civil`.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn says(question: &str, expected: &[(&str, &str)]) {
        let now = Timestamp::from_micros(days(2023, 5, 10) * DAY + DAY / 2); // a Wednesday
        let spans = named(question, Some(now));
        let shown: Vec<_> = spans.iter().map(|span| (span.0.to_day(), span.1.to_day())).collect();
        let shown: Vec<_> = shown.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
        assert_eq!(shown, expected, "{question}");
    }

    #[test]
    fn what_a_question_says_of_time_is_a_span() {
        says("What happened on 7 May 2023?", &[("2023-05-07", "2023-05-08")]);
        says("What happened on May 7th, 2023?", &[("2023-05-07", "2023-05-08")]);
        says("on 2023-02-28", &[("2023-02-28", "2023-03-01")]);
        says("in December 2022", &[("2022-12-01", "2023-01-01")]);
        says("in June", &[("2022-06-01", "2022-07-01")]);
        says("during 2020", &[("2020-01-01", "2021-01-01")]);
        says("yesterday", &[("2023-05-09", "2023-05-10")]);
        says("last week", &[("2023-05-01", "2023-05-08")]);
        says("What may I eat?", &[]);
        says("Who has 2 dogs?", &[]);
        assert_eq!(named("yesterday", None), []);
    }
}
