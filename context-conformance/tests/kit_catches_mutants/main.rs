//! Tests of the suite itself: a mutant must fail the case that is meant to catch it, and a sound
//! store must fail none.
//!
//! Each [`Fault`] is a bug that a real store has had or could have. A fault that no case notices is
//! a gap in the suite.

mod commit;
mod fault;
mod fragment_log;
mod memories;
mod mutant;
mod ref_log;
mod rounds;
mod search;
mod streams;

use std::sync::Arc;

use context_conformance::{CaseSettings, Report, assert_conforms, cases, run, run_with};

use crate::fault::{Fault, Mutants};

async fn check(fault: Fault, wanted: &[&str]) -> Report {
    let settings = CaseSettings::default();
    run_with(Arc::new(Mutants::of(fault)), &settings, |case| {
        wanted.contains(&case.to_string().as_str())
    })
    .await
}

async fn assert_caught(fault: Fault, wanted: &[&str]) {
    let report = check(fault, wanted).await;
    let failed: Vec<_> = report.failures().map(|failure| failure.case.to_string()).collect();
    assert_eq!(failed, wanted, "{report}");
}

macro_rules! caught {
    ($($fault:ident => $($case:literal),+;)+) => {$(
        #[allow(non_snake_case)]
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $fault() {
            assert_caught(Fault::$fault, &[$($case),+]).await;
        }
    )+};
}

caught! {
    IgnoresExpected => "commit::stale_head_is_a_conflict", "concurrency::one_of_sixteen_racers_is_applied",
        "linear::calls_of_many_clients_have_an_order", "linear::calls_through_several_handles_have_an_order";
    GraftsOntoAnyChain => "grafts::head_that_is_not_on_the_chain_is_a_conflict",
        "grafts::fork_has_the_chain_of_its_parent", "grafts::branch_that_was_made_anew_is_a_conflict",
        "grafts::without_messages_only_checks";
    GraftsOverOthers => "grafts::after_the_messages_of_others", "grafts::sixteen_at_once_all_get_in";
    OpensTheFirstBranch => "opening::follows_the_active_branch";
    OpensWithoutFragments => "opening::the_parts_are_those_of_their_own_calls",
        "opening::writes_of_another_handle_are_seen";
    HidesWhatAGraftFollows => "grafts::after_the_messages_of_others", "grafts::sixteen_at_once_all_get_in";
    RefusesGraftsThatLost => "grafts::after_the_messages_of_others", "grafts::sixteen_at_once_all_get_in";
    HidesTheActualHead => "commit::stale_head_is_a_conflict";
    WritesBeforeChecking => "commit::refused_leaves_nothing";
    ForgetsKeys => "commit::key_counts_once", "concurrency::one_of_many_replays_is_applied",
        "fault::a_lost_reply_is_found_out_by_the_same_commit", "fault::silence_is_found_out_by_the_same_commit",
        "fault::random_faults_with_retries_end_as_they_must";
    ReplaysWithoutComparing => "commit::same_key_other_content_is_refused";
    DropsHoles => "read::messages_keep_order_holes_and_duplicates", "read::many_ids_at_once";
    BoundsTheDepth => "read::deep_chain";
    ChecksAwaitsActs => "concurrency::one_of_sixteen_racers_is_applied";
    ClaimsDurability => "info::offers_what_it_claims", "durability::everything_is_there_again";
    ForgetsOnReopen => "durability::everything_is_there_again", "durability::goes_on_where_it_was";
    SecondHandleIsAnotherStore => "concurrency::two_handles_see_each_other";
    LeaksOtherUsers => "chats::of_another_user_is_like_absent", "chats::another_user_changes_nothing";
    MovesHeadOnAmend => "amend::head_stays";
    LosesRevisions => "amend::revisions_are_kept_in_order";
    CountsVersions => "branches::next_version_takes_the_lowest_free_number";
    TruncatesWindows => "windows::cut_where_they_say";
    HidesWhatWasSkipped => "windows::cut_where_they_say";
    HidesAmendments => "windows::after_reads_all_again_once_something_was_amended", "redact::every_reader_finds_out",
        "removal::readers_find_out";
    TruncatesBodies => "fidelity::large_bodies";
    EndsBodiesAtNul => "fidelity::bodies_of_any_bytes";
    MovesReplacedFragments => "fragments::same_id_replaces_in_place";
    KeepsFragmentsTwice => "fragments::same_content_without_id_is_kept_once";
    LogLeavesRemovalsOut => "fragment_log::changes_and_removals_are_versions",
        "fragment_log::state_after_each_of_many_writes";
    LogForgetsMessages => "fragment_log::a_commit_names_its_first_message";
    ClearingKeepsTheLog => "fragment_log::cleared_versions_are_gone";
    RefLogLeavesDeletionsOut => "ref_log::every_change_is_an_entry", "ref_log::removals_of_messages_are_counted";
    RefLogHasAppends => "ref_log::nothing_changed_is_no_entry";
    ClearingKeepsTheRefLog => "ref_log::a_cleared_log_begins_anew";
    DeleteLeavesMessages => "chats::deleting_takes_everything";
    AwaitsBetweenWrites => "concurrency::readers_see_whole_commits", "cancel::dropped_commit_is_whole_or_absent";
    ReadsThenPatches => "concurrency::counting_loses_nothing";
    RedactingKeepsRevisions => "redact::body_and_revisions_are_gone", "redact::a_key_counts_once";
    DeletesBranchesThatMoved => "removal::a_branch_that_moved_is_not_deleted", "removal::an_empty_branch";
    DeletingTakesSharedMessages => "removal::deleting_takes_what_only_it_reached", "removal::forks_of_forks";
    DeletingLeavesOrphans => "removal::deleting_takes_what_only_it_reached", "removal::ids_are_free_again";
    RenamingMovesBranches => "removal::renaming_keeps_order_head_and_time";
    SearchesJson => "search::words_and_not_what_is_around_them";
    SearchesAllUsers => "search::chats_and_users_are_apart";
    SearchesAllBranches => "search::a_branch_sees_its_chain";
    SearchesAsSyntax => "search::anything_can_be_typed", "search::what_is_cut_must_be_together";
    SearchSkipsBetweenPages => "search_hits::pages_give_each_hit_once";
    ErasingLeavesFragments => "maintenance::erasing_is_for_good";
    FactsAreOfTheEpoch => "maintenance::facts_are_plausible_and_asking_changes_nothing";
    FactsHaveMoreUnused => "maintenance::facts_are_plausible_and_asking_changes_nothing";
    FactsNeedMessages => "maintenance::facts_are_plausible_and_asking_changes_nothing";
    FactsAreOfTheRoomLeft => "maintenance::facts_are_plausible_and_asking_changes_nothing";
    FactsCreateAChat => "maintenance::facts_are_plausible_and_asking_changes_nothing";
    ErasesInSilence => "maintenance::erasing_says_how_far_it_is";
    HasTwoWriters => "streams::claimed_by_one_writer", "stream_races::one_of_many_claims_wins",
        "stream_races::one_of_many_takes_over";
    TakesChunksBehindGaps => "streams::chunks_follow_each_other_without_a_gap";
    WritesReplaysTwice => "streams::a_repeated_append_is_known", "stream_races::the_same_append_at_once_is_written_once",
        "stream_races::a_lost_reply_is_found_out_by_the_same_call";
    ReplaysOtherChunks => "streams::a_repeated_append_is_known",
        "stream_races::one_of_many_appends_at_an_offset_is_written";
    LetsOldWritersGoOn => "streams::an_idle_writer_is_taken_over_and_fenced";
    EndsBeforeTheLastChunks => "stream_races::readers_see_neither_gaps_nor_an_early_end";
    CancellingEndsWhatRuns => "streams::cancelled_while_it_waits_runs_and_after_it_ended";
    BeginsAnyRunAnew => "streams::begun_anew_once";
    CreatingBeginsAnew => "streams::created_once";
    LetsOldOwnersCommit => "leases::a_commit_under_a_lost_lease_writes_nothing";
    CommitsPastLeases => "leases::a_writer_without_a_lease_is_refused_while_one_is_in_force";
    ClaimsAnyDurability => "asked_durability::more_than_the_strongest_is_refused_and_writes_nothing";
    RefusesDurabilityTooLate => "asked_durability::more_than_the_strongest_is_refused_and_writes_nothing";
    GivesItsOwnDurabilityOnly => "asked_durability::everything_up_to_the_strongest_is_granted",
        "asked_durability::sixteen_writers_ask_for_different_ones";
    ComparesDurability => "asked_durability::a_repeated_commit_is_a_replay_whatever_it_asks_for";
    LosesEmptyChunks => "stream_reads::chunks_come_back_byte_for_byte";
    PrunesWhatRuns => "stream_removal::pruned_by_when_they_ended";
    IgnoresRevisions => "rounds::a_stale_commit_is_a_conflict", "round_races::one_of_sixteen_commits_is_applied",
        "round_races::one_of_sixteen_creates_it", "linear::calls_of_many_clients_have_an_order";
    HidesTheActualRevision => "rounds::a_stale_commit_is_a_conflict";
    ChecksRevisionsThenWrites => "round_races::one_of_sixteen_commits_is_applied",
        "round_races::retrying_recorders_lose_nothing";
    ForgetsKeysOfRounds => "rounds::a_repeated_commit_is_replayed", "rounds::random_rounds_come_back",
        "round_races::the_same_commit_at_once_is_applied_once",
        "round_races::a_lost_reply_is_found_out_by_the_same_commit";
    MixesSessions => "rounds::users_sessions_and_agents_are_apart";
    MixesAgents => "rounds::users_sessions_and_agents_are_apart";
    DropsVersions => "rounds::later_commits_go_on_with_it", "rounds::versions_are_kept_in_order";
    EndsTextsAtNul => "round_values::any_text_comes_back";
    SortsKeysOfJson => "round_values::digits_and_keys_of_json_come_back";
    RoundsTimes => "round_values::times_measures_and_messages_come_back";
    LosesLinksOfChangedNodes => "round_values::times_measures_and_messages_come_back";
    DropsReferencesToEarlierRounds => "rounds::references_to_earlier_rounds_stay";
    SortsEdges => "rounds::edges_keep_their_order", "rounds::random_rounds_come_back";
    ForgetsRemovals => "rounds::removed_nodes_take_their_edges", "round_messages::gone_with_their_node";
    WritesHalfRounds => "round_races::readers_see_whole_commits", "round_races::a_dropped_commit_is_whole_or_absent";
    ListingSkipsBetweenPages => "round_listing::pages_give_each_once",
        "round_listing::pages_go_on_while_rounds_are_written";
    ListsLowestFirst => "round_listing::by_session_and_agent_and_highest_first";
    ListsRoundsAtTheEndToo => "round_listing::before_a_number";
    SortsNodesAsText => "round_messages::found_among_all_rounds_in_order";
    PrunesWhateverItsTime => "round_removal::pruned_by_when_they_were_written";
    PrunesAllAgents => "round_removal::pruned_of_a_session_or_agent";
    WidensScopes => "memory_scopes::scopes_are_exact", "memory_scopes::lookalike_scopes_are_apart", "memory_scopes::random_scopes_never_give_anothers";
    JoinsScopes => "memory_scopes::lookalike_scopes_are_apart";
    KeepsWordsOfRewritten => "memory_search::a_rewrite_changes_the_words", "memory_search::random_searches_find_what_the_model_finds";
    LosesMarks => "memory_removal::marks_keep_forgotten_ones_away", "memory_races::forgotten_while_it_is_written";
    MarksOutliveScopes => "memory_removal::marks_go_with_their_scope", "memory_removal::erased_with_their_user";
    KeepsVectors => "memory_search::vectors_by_their_angle", "memory_removal::words_and_vectors_go_too";
    CountsAskedKinds => "memory_search::common_words_of_all_kinds_count", "memory_search::random_searches_find_what_the_model_finds";
    FindsAllKinds => "memory_search::common_words_of_all_kinds_count", "memory_search::words_first_and_then_vectors";
    FoldsWords => "memory_search::words_are_as_they_were_written";
    OldestOfEqualFirst => "memory_search::of_equal_ones_the_newest";
    ComparesEmbedders => "memory_search::vectors_of_another_embedder_are_not_compared";
    LooksAtTheNewest => "memory_search::in_a_large_memory_what_has_all_words_is_found";
    WritesHalfBatches => "memories::a_conflict_leaves_nothing_written";
    IgnoresVersions => "memories::a_version_is_written_once", "memory_races::one_of_sixteen_writes_a_version";
    ChecksVersionsThenWrites => "memory_races::one_of_sixteen_writes_a_version", "memory_races::counting_by_versions_loses_nothing";
    ReplaysAreConflicts => "memories::a_repeated_write_counts_once", "memory_races::a_lost_reply_is_found_out_by_the_same_write";
    BesideAnySession => "memories::beside_are_those_of_its_session";
    SortsMemoriesByName => "memories::read_in_the_order_asked";
    MovesRewritten => "memories::places_grow_and_stay";
    EndsMemoriesAtNul => "memories::any_text_comes_back";
    ListsSkipMemories => "memory_listing::the_newest_first_page_by_page", "memory_listing::pages_go_on_while_memories_are_written";
    StatsOfAllUsers => "memory_listing::stats_count_what_is_there", "memory_listing::stats_come_page_by_page";
    ForgetsTheScopeAlone => "memory_removal::forgotten_with_their_scope";
    ForgetsWholeSessions => "memory_removal::forgotten_by_their_source";
    ShowsContent => "hygiene::debug_shows_no_content";
    Panics => "read::messages_keep_order_holes_and_duplicates";
}

/// A case waits for such a store until it gives up, which paused time makes come at once.
#[tokio::test(start_paused = true)]
async fn watches_too_late() {
    let wanted = [
        "stream_watch::every_change_wakes",
        "stream_watch::every_change_through_another_handle_wakes",
    ];
    assert_caught(Fault::WatchesTooLate, &wanted).await;
}

/// Checks that the wrapper itself changes nothing, so a failure of a mutant is due to its fault.
/// This store can be reopened, too. It lives in the memory of one process, so cases about several
/// processes and files are skipped.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sound_store_passes_every_case() {
    let report = run(Mutants::of(Fault::None)).await;
    assert!(report.conforms(), "{report}");
    for skip in report.skips() {
        let elsewhere = [
            "maintenance::vacuum_loses_nothing",
            "maintenance::a_backup_is_a_store",
            "blob_references::a_backup_has_them",
            "stream_removal::a_backup_has_them",
            "round_removal::a_backup_has_them",
            "memory_removal::a_backup_has_them",
            "memory_races::counting_in_several_processes_loses_nothing",
            "linear::calls_of_killed_processes_have_an_order",
            "round_races::recorders_of_several_processes_lose_nothing",
        ];
        let processes = ["kill", "processes"].contains(&skip.case.group);
        assert!(processes || elsewhere.contains(&skip.case.to_string().as_str()), "{report}");
    }
    assert_eq!(report.results.len(), cases().count());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn assertion_shows_every_failure() {
    let broken = tokio::spawn(assert_conforms(Mutants::of(Fault::DropsHoles)));
    let panic = broken.await.expect_err("the store drops holes").into_panic();
    let text = panic.downcast_ref::<String>().expect("assertions panic with their text");
    for case in ["read::messages_keep_order_holes_and_duplicates", "read::many_ids_at_once"] {
        assert!(text.contains(&format!("\nfail {case}: ")), "{text}");
    }
}

/// Checks that the model case alone finds many kinds of faults, and tells how to reproduce them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn model_finds_faults_of_many_kinds() {
    for fault in [
        Fault::IgnoresExpected,
        Fault::ForgetsKeys,
        Fault::MovesHeadOnAmend,
        Fault::LosesRevisions,
        Fault::CountsVersions,
        Fault::MovesReplacedFragments,
        Fault::KeepsFragmentsTwice,
        Fault::DeleteLeavesMessages,
        Fault::HidesAmendments,
        Fault::RedactingKeepsRevisions,
        Fault::DeletesBranchesThatMoved,
        Fault::DeletingTakesSharedMessages,
        Fault::DeletingLeavesOrphans,
        Fault::RenamingMovesBranches,
    ] {
        let report = check(fault, &["model::random_lives_look_as_they_must"]).await;
        let text =
            report.failures().find_map(|failure| failure.verdict.reason()).unwrap_or_default();
        assert!(text.contains("again: CONTEXT_CONFORMANCE_SEED=0x"), "{fault:?}: {report}");
        let steps = text.lines().filter(|line| line.starts_with("  ")).count();
        assert!((1..=12).contains(&steps), "{fault:?} is shown in {steps} steps: {text}");
    }
}

#[test]
fn cases_have_names_of_their_own() {
    let mut names: Vec<_> = cases().map(ToString::to_string).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

/// A table that is missing in the list of groups would never run.
#[test]
fn every_module_of_cases_is_in_the_table() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/cases");
    let files = std::fs::read_dir(folder).unwrap();
    let mut modules: Vec<_> = files
        .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let mut groups: Vec<_> = cases().map(|case| case.group.to_owned()).collect();
    groups.dedup();
    modules.sort();
    groups.sort();
    assert_eq!(groups, modules);
}
