//! Predicates about the local date and time.

use context_core::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;

use super::{Kind, Predicate, ReminderError, Situation};

/// A calendar at a fixed offset from UTC, which makes predicates about the local date and time.
///
/// The time is [`Situation::now`]. An offset does not follow daylight saving time: a program whose
/// users have it sets its reminders with the offset of the day. A date or number that no calendar
/// has is an error of [`ReminderBuilder::build`](crate::ReminderBuilder::build).
///
/// ```
/// use context_instructions::{Calendar, Hemisphere, Season, Weekday, reminder};
///
/// let lisbon = Calendar::at_offset(60); // minutes east of UTC
/// let summer = lisbon.season(Season::Summer, Hemisphere::Northern);
/// let closed = lisbon.weekdays([Weekday::Sunday]).or(lisbon.hours(20, 8));
/// let busy = reminder("The ferries are full.").when(summer.and(!closed)).build()?;
/// let feast = reminder("The office is closed.").when(lisbon.each_year("12-24", "01-01")).build()?;
/// assert!(reminder("x").when(lisbon.dates("2026-02-30", "2026-03-01")).build().is_err());
/// # Ok::<_, context_instructions::ReminderError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Calendar {
    minutes: i32,
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Weekday {
    /// Monday.
    Monday,
    /// Tuesday.
    Tuesday,
    /// Wednesday.
    Wednesday,
    /// Thursday.
    Thursday,
    /// Friday.
    Friday,
    /// Saturday.
    Saturday,
    /// Sunday.
    Sunday,
}

/// A season of three whole months, as meteorologists count them. In the northern hemisphere, spring
/// begins with March.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Season {
    /// March to May in the north, September to November in the south.
    Spring,
    /// June to August in the north, December to February in the south.
    Summer,
    /// September to November in the north, March to May in the south.
    Autumn,
    /// December to February in the north, June to August in the south.
    Winter,
}

/// A half of the Earth, which decides when its seasons are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hemisphere {
    /// North of the equator.
    Northern,
    /// South of the equator.
    Southern,
}

/// The part of a calendar that a predicate is about.
#[derive(Debug)]
pub(super) enum Rule {
    Dates(Date, Date),
    /// Months and days, which may pass the end of the year.
    EachYear((i8, i8), (i8, i8)),
    Weekdays(Vec<Weekday>),
    Months(Vec<u8>),
    /// From the first hour until before the second, which may pass midnight.
    Hours(u8, u8),
    DayChanged,
}

impl Calendar {
    /// The calendar of UTC.
    pub const UTC: Self = Self { minutes: 0 };

    /// Creates a calendar at this offset, in minutes east of UTC, less than 26 hours.
    pub const fn at_offset(minutes: i32) -> Self {
        Self { minutes }
    }

    /// Holds from the day `first` to the day `last`, both included, as in `2026-12-24`. Give one
    /// date twice for a single day.
    pub fn dates(self, first: &str, last: &str) -> Predicate {
        self.range(first, last, date, |first, last| {
            (first <= last).then_some(Rule::Dates(first, last))
        })
    }

    /// Holds each year from the day `first` to the day `last`, both included, as in `12-24`. The
    /// days may pass the end of the year, as `12-24` to `01-06` do.
    pub fn each_year(self, first: &str, last: &str) -> Predicate {
        // A leap year has every day.
        let day = |text: &str| date(&format!("2000-{text}")).map(|day| (day.month(), day.day()));
        self.range(first, last, day, |first, last| Some(Rule::EachYear(first, last)))
    }

    /// Holds on these days of the week.
    pub fn weekdays(self, days: impl IntoIterator<Item = Weekday>) -> Predicate {
        self.listed("weekdays", days.into_iter().collect(), Rule::Weekdays)
    }

    /// Holds in these months, from 1 for January to 12.
    pub fn months(self, months: impl IntoIterator<Item = u8>) -> Predicate {
        let months: Vec<_> = months.into_iter().collect();
        match months.iter().find(|month| !(1..=12).contains(*month)) {
            Some(month) => unknown("month", month.to_string()),
            None => self.listed("months", months, Rule::Months),
        }
    }

    /// Holds in this season of this hemisphere.
    pub fn season(self, season: Season, hemisphere: Hemisphere) -> Predicate {
        let north = match hemisphere {
            Hemisphere::Northern => season,
            Hemisphere::Southern => season.opposite(),
        };
        self.months(match north {
            Season::Spring => [3, 4, 5],
            Season::Summer => [6, 7, 8],
            Season::Autumn => [9, 10, 11],
            Season::Winter => [12, 1, 2],
        })
    }

    /// Holds from the full hour `from` until the full hour `until`, from 0 to 24. The hours may
    /// pass midnight, as 22 to 6 do.
    pub fn hours(self, from: u8, until: u8) -> Predicate {
        match from < 24 && until <= 24 && from != until {
            true => self.rule(Rule::Hours(from, until % 24)),
            false => unknown("hours", format!("{from} to {until}")),
        }
    }

    /// Holds if the date is another than that of the last message before this turn. Never holds in
    /// a first turn.
    pub fn day_changed(self) -> Predicate {
        self.rule(Rule::DayChanged)
    }

    fn range<T>(
        self,
        first: &str,
        last: &str,
        parse: impl Fn(&str) -> Option<T>,
        rule: impl FnOnce(T, T) -> Option<Rule>,
    ) -> Predicate {
        let rule = parse(first).zip(parse(last)).and_then(|(first, last)| rule(first, last));
        rule.map_or_else(|| unknown("dates", format!("{first} to {last}")), |rule| self.rule(rule))
    }

    fn listed<T>(
        self,
        name: &'static str,
        items: Vec<T>,
        rule: impl FnOnce(Vec<T>) -> Rule,
    ) -> Predicate {
        match items.is_empty() {
            true => Kind::Invalid(ReminderError::ZeroCount(name)).into(),
            false => self.rule(rule(items)),
        }
    }

    fn rule(self, rule: Rule) -> Predicate {
        match self.minutes.checked_mul(60).and_then(|seconds| Offset::from_seconds(seconds).ok()) {
            Some(offset) => Kind::Calendar(offset, rule).into(),
            None => unknown("offset in minutes", self.minutes.to_string()),
        }
    }
}

impl Season {
    fn opposite(self) -> Self {
        match self {
            Self::Spring => Self::Autumn,
            Self::Summer => Self::Winter,
            Self::Autumn => Self::Spring,
            Self::Winter => Self::Summer,
        }
    }
}

impl Rule {
    /// Returns whether the rule holds at the local time.
    pub(super) fn holds(&self, offset: Offset, situation: &Situation<'_>) -> bool {
        let now = local(offset, situation.now());
        match self {
            Self::Dates(first, last) => (*first..=*last).contains(&now.date()),
            Self::EachYear(first, last) => {
                let day = (now.month(), now.day());
                match first <= last {
                    true => (*first..=*last).contains(&day),
                    false => day >= *first || day <= *last,
                }
            }
            Self::Weekdays(days) => days.contains(&weekday(now)),
            Self::Months(months) => {
                months.iter().any(|month| i8::try_from(*month) == Ok(now.month()))
            }
            Self::Hours(from, until) => {
                let hour = now.hour().unsigned_abs();
                match from < until {
                    true => (*from..*until).contains(&hour),
                    false => hour >= *from || hour < *until,
                }
            }
            Self::DayChanged => {
                let before = situation.summary().before_turn();
                before.is_some_and(|before| local(offset, before).date() != now.date())
            }
        }
    }
}

/// Returns the local time. A time outside the years -9999 to 9999 counts as the nearest one.
fn local(offset: Offset, at: Timestamp) -> DateTime {
    let nearest = match at.as_micros() {
        ..0 => jiff::Timestamp::MIN,
        0.. => jiff::Timestamp::MAX,
    };
    offset.to_datetime(jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or(nearest))
}

fn weekday(now: DateTime) -> Weekday {
    match now.weekday() {
        jiff::civil::Weekday::Monday => Weekday::Monday,
        jiff::civil::Weekday::Tuesday => Weekday::Tuesday,
        jiff::civil::Weekday::Wednesday => Weekday::Wednesday,
        jiff::civil::Weekday::Thursday => Weekday::Thursday,
        jiff::civil::Weekday::Friday => Weekday::Friday,
        jiff::civil::Weekday::Saturday => Weekday::Saturday,
        jiff::civil::Weekday::Sunday => Weekday::Sunday,
    }
}

/// Parses a date of ten characters. The parser would accept a time too, and ignore it.
fn date(text: &str) -> Option<Date> {
    text.parse().ok().filter(|_| text.len() == 10)
}

fn unknown(setting: &'static str, value: String) -> Predicate {
    Kind::Invalid(ReminderError::NotInCalendar { setting, value }).into()
}
