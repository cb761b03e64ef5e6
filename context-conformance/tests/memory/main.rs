//! Checks that the suite passes a correct memory provider, and catches those that break one promise
//! each.

mod faulty_provider;

use std::sync::Arc;

use context_conformance::memory::{MemoryClaims, MemorySuiteReport, assert_memory_conforms};

use crate::faulty_provider::{Fault, FaultyProvider};

async fn asked(fault: Fault, claims: &MemoryClaims) -> MemorySuiteReport {
    assert_memory_conforms(async || Arc::new(FaultyProvider::new(fault)) as _, claims).await
}

#[tokio::test]
async fn a_good_memory_passes() {
    let asked = asked(Fault::Nothing, &MemoryClaims::default()).await;
    assert!(asked.skipped.is_empty() && asked.passed.len() > 20, "{asked:?}");
}

/// A provider may choose the scope under which it files memories.
#[tokio::test]
async fn a_memory_that_files_under_the_user_passes() {
    asked(Fault::FilesUnderTheUser, &MemoryClaims::default()).await;
}

#[tokio::test]
async fn a_memory_without_agents_that_says_so_passes() {
    asked(Fault::RefusesSomeScopes, &MemoryClaims::default()).await;
}

#[tokio::test]
async fn what_is_not_claimed_is_not_asked() {
    let mut claims = MemoryClaims::default();
    claims.captures = false;
    let asked = asked(Fault::CapturesNothing, &claims).await;
    assert!(asked.passed.contains(&"remembers_nothing_at_first"), "{asked:?}");
    assert!(asked.skipped.iter().any(|(name, _)| *name == "captured_turns_come_back"), "{asked:?}");
}

macro_rules! caught {
    ($($fault:ident => $case:literal;)+) => {$(
        #[allow(non_snake_case)]
        #[tokio::test]
        #[should_panic(expected = $case)]
        async fn $fault() {
            asked(Fault::$fault, &MemoryClaims::default()).await;
        }
    )+};
}

caught! {
    CapturesNothing => "fail captured_turns_come_back";
    CrossesSessions => "fail random_recalls_see_only_what_is_visible";
    CrossesUsers => "fail users_are_apart";
    JoinsNames => "fail lookalike_scopes_are_apart";
    ForgetsNothing => "fail forgotten_by_its_message";
    ForgetsWithoutMarks => "fail forgotten_by_its_name";
    ForgetsOnlyWhatIsKept => "fail forgotten_before_it_is_kept";
    ForgetsAllUsers => "fail other_users_are_not_forgotten";
    Miscounts => "fail forgetting_again";
    KeepsTwice => "fail the_same_turn_counts_once";
    KeepsTwiceBehindAFlush => "fail the_same_turn_counts_once";
    NamesByTurn => "fail overlapping_turns_count_once";
    IgnoresFlush => "fail captured_turns_come_back";
    IgnoresBudgets => "fail a_budget_is_kept";
    WorstFirst => "fail the_best_first";
    NoSources => "fail results_are_attributed";
    ForgetsTimes => "fail results_are_attributed";
    RefusesStrangeTexts => "fail hostile_texts_do_no_harm";
    LosesDropped => "fail a_dropped_capture_is_told_again";
    TakesWhatItRefuses => "fail a_cancelled_capture_is_taken_or_not";
    IgnoresTrust => "fail a_least_class_is_kept";
    IgnoresQuarantine => "fail quarantined_by_its_message_and_released";
    ReleasesNothing => "fail quarantined_by_its_message_and_released";
    LosesUses => "fail uses_are_found_by_their_memory";
    ShowsContent => "fail nobody_sees_content_by_debugging";
}
