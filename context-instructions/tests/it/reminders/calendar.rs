//! Predicates about the local date and time.

use context_core::Timestamp;
use context_instructions::{
    Calendar, ConversationSummary, Hemisphere, Predicate, ReminderError, ReminderTarget, Season,
    Situation, Weekday, reminder,
};
use proptest::prelude::*;

use super::{ConversationFixture, assistant, build};

const SEASONS: [Season; 4] = [Season::Spring, Season::Summer, Season::Autumn, Season::Winter];
const WEEKDAYS: [Weekday; 7] = [
    Weekday::Monday,
    Weekday::Tuesday,
    Weekday::Wednesday,
    Weekday::Thursday,
    Weekday::Friday,
    Weekday::Saturday,
    Weekday::Sunday,
];

/// Returns the seconds since 1970 of a date and an hour in UTC, counted by the Gregorian rule.
fn seconds(year: i64, month: i64, day: i64, hour: i64) -> i64 {
    // Years that begin with March have their leap day at the end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = 365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468;
    days * 86_400 + hour * 3_600
}

fn at(year: i64, month: i64, day: i64, hour: i64) -> Timestamp {
    Timestamp::from_micros(seconds(year, month, day, hour) * 1_000_000)
}

fn holds(predicate: &Predicate, now: Timestamp) -> bool {
    let summary = ConversationSummary::new();
    predicate.holds(&Situation::new(&summary, ReminderTarget::User, now, None))
}

#[test]
fn dates_include_the_first_and_the_last_day() {
    let feast = Calendar::UTC.dates("2026-12-24", "2026-12-26");
    for (day, expected) in [(23, false), (24, true), (26, true), (27, false)] {
        assert_eq!(holds(&feast, at(2026, 12, day, 23)), expected, "{day}");
    }
    assert!(!holds(&feast, at(2027, 12, 25, 0)));
    let each = Calendar::UTC.each_year("12-24", "01-06");
    for (month, day, expected) in
        [(12, 23, false), (12, 24, true), (1, 6, true), (1, 7, false), (7, 1, false)]
    {
        assert_eq!(holds(&each, at(2031, month, day, 12)), expected, "{month}-{day}");
    }
    let leap_day = Calendar::UTC.each_year("02-29", "02-29");
    assert!(holds(&leap_day, at(2028, 2, 29, 0)) && !holds(&leap_day, at(2027, 3, 1, 0)));
}

#[test]
fn an_offset_decides_which_day_it_is() {
    let now = at(2026, 3, 1, 0); // a Sunday
    for (minutes, month, weekday) in [
        (0, 3, Weekday::Sunday),
        (-1, 2, Weekday::Saturday),
        (24 * 60, 3, Weekday::Monday),
        (-25 * 60, 2, Weekday::Friday),
    ] {
        let calendar = Calendar::at_offset(minutes);
        assert!(holds(&calendar.months([month]), now), "{minutes}");
        assert!(holds(&calendar.weekdays([weekday]), now), "{minutes}");
    }
}

#[test]
fn hours_may_pass_midnight() {
    let night = Calendar::UTC.hours(22, 6);
    for (hour, expected) in [(21, false), (22, true), (0, true), (5, true), (6, false)] {
        assert_eq!(holds(&night, at(2026, 5, 5, hour)), expected, "{hour}");
    }
    assert!((0..24).all(|hour| holds(&Calendar::UTC.hours(0, 24), at(2026, 5, 5, hour))));
    assert!(holds(&Calendar::at_offset(330).hours(5, 6), at(2026, 5, 5, 0)));
}

#[test]
fn a_day_changes_when_a_conversation_goes_on_after_midnight() {
    let reminders = build(reminder("x").when(Calendar::at_offset(60).day_changed()));
    let mut conversation =
        ConversationFixture { seconds: seconds(2026, 5, 5, 22), ..Default::default() };
    assert!(!conversation.add("a first turn").save(&reminders));
    conversation.add(assistant("a")).save(&reminders);
    assert!(!conversation.add("the same day").save(&reminders));
    conversation.seconds += 3_600;
    assert!(conversation.add("23:00 in UTC is the next day").save(&reminders));
    assert!(!conversation.add("and stays it").save(&reminders));
}

#[test]
fn what_no_calendar_has_is_refused_when_it_is_built() {
    let utc = Calendar::UTC;
    for (predicate, message) in [
        (utc.dates("2026-02-30", "2026-03-01"), "no dates `2026-02-30 to 2026-03-01`"),
        (utc.dates("2026-03-02", "2026-03-01"), "no dates `2026-03-02 to 2026-03-01`"),
        (utc.dates("2026-03-01T10:00", "2026-03-02"), "no dates"),
        (utc.dates("tomorrow", "2026-03-02"), "no dates `tomorrow to 2026-03-02`"),
        (utc.each_year("02-30", "03-01"), "no dates `02-30 to 03-01`"),
        (utc.months([1, 0]), "no month `0`"),
        (utc.months([13]), "no month `13`"),
        (utc.hours(24, 1), "no hours `24 to 1`"),
        (utc.hours(1, 25), "no hours `1 to 25`"),
        (utc.hours(8, 8), "no hours `8 to 8`"),
        (Calendar::at_offset(26 * 60).hours(1, 2), "no offset in minutes `1560`"),
        (Calendar::at_offset(i32::MIN).day_changed(), "no offset in minutes"),
    ] {
        let error = reminder("x").when(predicate).build().unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
    let error = reminder("x").when(utc.weekdays([])).build().unwrap_err();
    assert_eq!(error, ReminderError::ZeroCount("weekdays"));
}

fn any_calendar() -> impl Strategy<Value = Calendar> {
    (-26 * 60 + 1..26 * 60).prop_map(Calendar::at_offset)
}

proptest! {
    /// Also at times that no calendar reaches.
    #[test]
    fn each_moment_has_one_season_one_weekday_and_one_month(
        micros in prop_oneof![any::<i64>(), -1i64 << 52..1 << 52], calendar in any_calendar()
    ) {
        let now = Timestamp::from_micros(micros);
        let season = |hemisphere| {
            let of: Vec<_> = SEASONS
                .iter()
                .filter(|season| holds(&calendar.season(**season, hemisphere), now))
                .collect();
            assert_eq!(of.len(), 1);
            SEASONS.iter().position(|season| season == of[0]).unwrap()
        };
        prop_assert_eq!((season(Hemisphere::Northern) + 2) % 4, season(Hemisphere::Southern));
        let is_on = |day: &&Weekday| holds(&calendar.weekdays([**day]), now);
        prop_assert_eq!(WEEKDAYS.iter().filter(is_on).count(), 1);
        prop_assert_eq!((1..=12).filter(|month| holds(&calendar.months([*month]), now)).count(), 1);
    }

    #[test]
    fn the_hours_of_a_day_are_those_of_a_range_and_those_of_its_complement(
        micros in any::<i64>(), calendar in any_calendar(), from in 0u8..24, until in 0u8..24
    ) {
        prop_assume!(from != until);
        let now = Timestamp::from_micros(micros);
        let (range, complement) = (calendar.hours(from, until), calendar.hours(until, from));
        prop_assert_ne!(holds(&range, now), holds(&complement, now));
        prop_assert_eq!(holds(&!range, now), holds(&complement, now));
    }

    /// The order of dates is that of their texts.
    #[test]
    fn a_day_is_in_a_range_of_dates_as_its_text_is(
        days in prop::array::uniform3((0i64..=9999, 1i64..=12, 1i64..=28)), hour in 0i64..24,
        minutes in -720i64..=720
    ) {
        let text = |(year, month, day): (i64, i64, i64)| format!("{year:04}-{month:02}-{day:02}");
        let [first, last, now] = days;
        let (first, last) = (first.min(last), first.max(last));
        let local = at(now.0, now.1, now.2, hour).as_micros() - minutes * 60_000_000;
        let calendar = Calendar::at_offset(i32::try_from(minutes).unwrap());
        let (from, until, day) = (text(first), text(last), text(now));
        prop_assert_eq!(
            holds(&calendar.dates(&from, &until), Timestamp::from_micros(local)),
            from <= day && day <= until
        );
        let (from, until, day) = (&from[5..], &until[5..], &day[5..]);
        let expected = match from <= until {
            true => from <= day && day <= until,
            false => from <= day || day <= until,
        };
        let now = Timestamp::from_micros(local);
        prop_assert_eq!(holds(&calendar.each_year(from, until), now), expected);
    }
}
