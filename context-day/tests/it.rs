//! Days of fixed seeds, and planted faults: each is noticed, and told as a short story.

use context_day::{Day, Invariant, PlantedFault, Subject};

/// The steps of a day in the ordinary tests.
const STEPS: u64 = 150;

#[test]
fn a_day_of_each_seed_holds_and_is_the_same_again() {
    for seed in [1, 2] {
        let run = || Day::new(seed, STEPS).run(|_, _, _| ()).unwrap();
        let report = run();
        assert_eq!(report.failure, None, "seed {seed}");
        assert!(report.requests > 10, "{report:?}");
        let again = run();
        assert_eq!((again.requests, again.digest), (report.requests, report.digest));
    }
}

#[test]
fn a_day_on_sqlite_holds() {
    let day = Day { subject: Subject::Sqlite, ..Day::new(3, 120) };
    let report = day.run(|_, _, _| ()).unwrap();
    assert_eq!(report.failure, None);
    assert!(report.effective > 40, "{report:?}");
}

#[test]
fn a_replay_of_all_steps_is_the_day() {
    let day = Day::new(5, 120);
    let whole = day.run(|_, _, _| ()).unwrap();
    let numbers: Vec<u64> = (1..=120).collect();
    let replayed = day.replay(&numbers, |_, _, _| ()).unwrap();
    assert_eq!((replayed.digest, replayed.failure), (whole.digest, whole.failure));
}

/// Plants a fault, and returns the invariant that breaks and its story.
fn story(planted: PlantedFault, seed: u64, steps: u64) -> (Invariant, String) {
    let day = Day { planted: Some(planted), ..Day::new(seed, steps) };
    let story = day.story().unwrap().expect("the fault is noticed");
    let again = day.replay(&story.numbers(), |_, _, _| ()).unwrap();
    let (_, failure) = again.failure.expect("the story is replayed");
    assert_eq!(failure, *story.failure());
    (failure.invariant, story.to_string())
}

macro_rules! planted {
    ($($name:ident: $planted:ident, $seed:literal, $steps:literal => $invariant:ident;)+) => {$(
        #[test]
        fn $name() {
            let (invariant, story) = story(PlantedFault::$planted, $seed, $steps);
            assert_eq!(invariant, Invariant::$invariant, "{story}");
            insta::assert_snapshot!(story);
        }
    )+};
}

planted! {
    a_request_that_breaks_rules_is_noticed: BreaksRules, 1, 300 => Valid;
    a_lost_first_request_is_noticed: DropsFirst, 1, 400 => FirstRequest;
    a_lost_newest_request_is_noticed: DropsNewest, 1, 300 => NewestRequest;
    words_of_another_user_are_noticed: Leaks, 1, 300 => Isolation;
    a_wrong_cost_is_noticed: Overcharges, 1, 300 => Costs;
    a_lost_message_is_noticed: LosesMessages, 1, 300 => Kept;
}

/// These faults need more steps or longer requests to show, and their shortest stories more time
/// than an ordinary test may take: `--plant` of the program tells them.
#[test]
fn faults_that_need_long_days_are_noticed() {
    let faults = [
        (PlantedFault::Overfills, Invariant::Window),
        (PlantedFault::ChangesPrefix, Invariant::CachePrefix),
        (PlantedFault::ErasesChatsOnly, Invariant::Erased),
        (PlantedFault::KeepsRoundsOpen, Invariant::Bounded),
    ];
    for (planted, invariant) in faults {
        let day = Day { planted: Some(planted), ..Day::new(1, 600) };
        let (_, failure) = day.run(|_, _, _| ()).unwrap().failure.expect("it is noticed");
        assert_eq!(failure.invariant, invariant, "{failure}");
    }
}
