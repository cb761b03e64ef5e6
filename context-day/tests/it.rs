//! Days of fixed seeds, and planted faults: each is noticed, and told as a short story.

use context_day::{Day, DayReport, Invariant, PlantedDefect, Subject};

/// The steps of a day in the ordinary tests.
const STEPS: u64 = 100;

fn run(day: &Day) -> DayReport {
    day.run(|_, _, _| ()).expect("a day can begin")
}

#[test]
fn a_day_of_each_seed_holds_and_is_the_same_again() {
    for seed in [1, 2] {
        let day = Day::new(seed, STEPS);
        let report = run(&day);
        assert_eq!(report.failure, None, "seed {seed}");
        assert!(report.requests > 10, "{report:?}");
        let again = run(&day);
        assert_eq!((again.requests, again.digest), (report.requests, report.digest));
    }
}

#[test]
fn a_day_on_sqlite_holds() {
    let report = run(&Day { subject: Subject::Sqlite, ..Day::new(3, STEPS) });
    assert_eq!(report.failure, None);
    assert!(report.effective > 30, "{report:?}");
}

#[test]
fn a_replay_of_all_steps_is_the_day() {
    let day = Day::new(5, STEPS);
    let whole = run(&day);
    let numbers: Vec<u64> = (1..=STEPS).collect();
    let replayed = day.replay(&numbers, |_, _, _| ()).expect("a day can begin");
    assert_eq!((replayed.digest, replayed.failure), (whole.digest, whole.failure));
}

#[test]
fn of_a_conversation_whose_first_request_was_redacted_none_is_expected_after_a_rewind() {
    let numbers = [
        17, 45, 48, 53, 54, 63, 68, 89, 91, 101, 103, 105, 106, 126, 137, 138, 141, 153, 154, 159,
        160, 162, 166, 179, 180, 191, 194, 227, 495, 499, 507, 508,
    ];
    let report = Day::new(303, 508).replay(&numbers, |_, _, _| ()).expect("a day can begin");
    assert_eq!((report.failure, report.requests), (None, 10));
}

#[test]
fn the_costs_of_a_cancelled_turn_are_not_those_of_the_one_that_is_resumed_after_a_rewind() {
    let numbers = [1701, 1703, 1712, 1735, 1736, 1738, 1821, 1827, 1844, 1856, 1864, 1876, 1893];
    let report = Day::new(301, 1893).replay(&numbers, |_, _, _| ()).expect("a day can begin");
    assert_eq!((report.failure, report.effective), (None, 13));
}

/// Plants a fault, and returns the invariant that breaks and its story.
fn story(planted: PlantedDefect, seed: u64) -> (Invariant, String) {
    let day = Day { planted: Some(planted), ..Day::new(seed, 300) };
    let story = day.story().expect("a day can begin").expect("the fault is noticed");
    let again = day.replay(&story.numbers(), |_, _, _| ()).expect("a day can begin");
    let (_, failure) = again.failure.expect("the story is replayed");
    assert_eq!(failure, *story.failure());
    (failure.invariant, story.to_string())
}

macro_rules! planted {
    ($($name:ident: $planted:ident, $seed:literal => $invariant:ident;)+) => {$(
        #[test]
        fn $name() {
            let (invariant, story) = story(PlantedDefect::$planted, $seed);
            assert_eq!(invariant, Invariant::$invariant, "{story}");
            insta::assert_snapshot!(story);
        }
    )+};
}

planted! {
    a_request_that_breaks_rules_is_noticed: BreaksRules, 211 => Valid;
    a_request_above_the_window_is_noticed: Overfills, 125 => Window;
    a_lost_first_request_is_noticed: DropsFirst, 97 => FirstRequest;
    a_lost_newest_request_is_noticed: DropsNewest, 104 => NewestRequest;
    a_lost_message_is_noticed: LosesMessages, 104 => Kept;
    a_wrong_cost_is_noticed: Overcharges, 1 => Costs;
    words_of_another_user_are_noticed: Leaks, 122 => Isolation;
    words_of_an_erased_user_are_noticed: ErasesChatsOnly, 133 => Erased;
    a_changed_beginning_is_noticed: ChangesPrefix, 211 => CachePrefix;
    rounds_that_stay_open_are_noticed: KeepsRoundsOpen, 15 => Bounded;
    a_damaged_round_is_noticed: DamagesRounds, 79 => Sound;
    an_error_without_a_fault_is_noticed: FailsUnplanned, 133 => Unexpected;
}
