//! Tests beyond the conformance suite: chats that expire, keys that others remove, the number of
//! round trips, unusual names, and many writers. Without a server they are ignored.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod blobs_and_streams;
mod contention;
mod damage;
mod durability;
mod fixture;
mod loss;
mod memories;
mod memories_random;
mod names;
mod open;
mod plain_reads;
mod read_only;
mod round_trips;
mod rounds;
mod rounds_random;

context_conformance::test_program! {
    async {
        blobs_and_streams::what_an_expired_chat_referred_to_goes_with_its_entry,
        blobs_and_streams::chats_that_expire_leave_neither_their_entries_nor_their_blobs,
        blobs_and_streams::damage_to_blobs_and_streams_is_found,
        blobs_and_streams::a_chunk_is_one_question_and_so_is_reading_on,
        damage::the_check_finds_a_change_in_any_field_of_any_hash,
        damage::a_change_in_any_field_is_an_error_when_it_is_read_and_a_finding_of_the_check,
        damage::a_store_of_the_layout_before_gets_its_checksums_and_older_programs_stay_out,
        durability::only_a_commit_that_asks_for_it_waits_for_the_append_only_file,
        durability::commits_that_wait_at_the_same_time_share_a_flush,
        durability::a_server_that_cannot_report_flushes_refuses,
        durability::a_flush_that_fails_says_that_the_commit_is_applied,
        durability::a_flush_by_another_run_of_the_server_counts_for_later_commits_only,
        #[cfg(feature = "cluster")]
        durability::each_node_of_a_cluster_flushes_its_own_chats,
        loss::a_chat_expires_whole_and_every_write_puts_it_off,
        loss::a_creation_that_was_swept_while_it_was_under_way_begins_again,
        loss::everything_is_gone_after_a_flush_and_the_store_works_on,
        loss::a_chain_that_lacks_something_is_an_error_and_the_check_says_where,
        loss::the_check_finds_what_others_did_to_a_chat,
        memories::a_write_is_one_question_and_a_recall_three,
        memories::a_record_with_all_words_is_found_however_common_they_are,
        memories::and_in_a_memory_so_large_that_not_all_is_read,
        memories::the_newest_vectors_are_looked_at,
        memories::a_write_whose_answer_was_lost_counts_as_written_whatever_the_order_of_its_data,
        memories::what_is_forgotten_by_source_goes_however_much_it_is,
        memories::memories_do_not_expire,
        memories::damage_to_memories_is_found,
        memories::who_has_only_memories_is_a_user_and_is_erased,
        memories::neighbours_are_found_across_blocks,
        names::odd_names_are_names_everywhere,
        names::stores_with_other_prefixes_know_nothing_of_each_other,
        open::a_server_that_is_not_there_is_unavailable_and_no_password_is_shown,
        open::an_encrypted_connection_to_nobody_fails_without_a_panic,
        open::an_address_that_is_none_is_refused,
        open::a_store_says_what_its_server_keeps,
        open::a_login_or_a_database_that_is_refused_is_not_tried_again,
        plain_reads::branches_of_every_length_are_read_as_by_the_script,
        plain_reads::large_messages_have_runs_of_their_own,
        plain_reads::boundaries_and_forks_are_read_as_by_the_script,
        plain_reads::an_opening_of_a_short_branch_is_one_plain_command,
        plain_reads::damage_and_absence_are_the_same_errors,
        read_only::reading_changes_no_key_and_writing_is_refused,
        read_only::a_listing_that_reads_sweeps_nothing,
        read_only::a_prefix_without_a_store_is_made_one_only_by_who_may,
        read_only::keys_of_another_program_are_left_alone_however_they_are_opened,
        read_only::a_store_whose_number_was_thrown_away_is_known_by_its_keys,
        read_only::a_newer_layout_is_refused_and_not_touched,
        read_only::a_store_of_the_layout_before_leases_is_upgraded_when_it_is_opened_to_write,
        round_trips::an_append_is_one_question_and_a_load_at_most_two,
        round_trips::single_messages_become_runs,
        round_trips::the_largest_commits_go_both_ways,
        round_trips::a_commit_that_no_server_would_read_is_refused,
        round_trips::the_newer_protocol_says_the_same,
        rounds::a_commit_is_one_question_and_so_are_many_rounds,
        rounds::a_round_expires_whole_and_its_entries_are_none,
        rounds::who_only_begins_rounds_that_expire_keeps_no_entries,
        rounds::a_handle_without_a_time_to_live_keeps_the_indexes,
        rounds::damage_to_rounds_is_found_and_never_a_smaller_round,
        rounds::a_change_that_does_not_fit_is_refused_and_nothing_is_written,
        rounds::a_large_round_goes_both_ways_and_forgets_what_is_removed,
        rounds::who_has_only_rounds_is_a_user_and_is_erased,
        rounds::of_two_writers_one_is_first,
    }
    multi_thread {
        contention::sixteen_writers_on_one_branch_lose_nothing,
        contention::changes_beside_appends_are_not_starved,
        memories::many_writers_lose_nothing_and_a_version_is_given_once,
        plain_reads::reads_beside_a_writer_see_a_beginning_of_what_it_writes,
    }
    fn {
        memories_random::what_is_remembered_in_both_they_say_alike,
        #[cfg(feature = "cluster")]
        memories_random::and_so_they_do_on_a_cluster,
        rounds_random::what_is_done_to_both_they_say_alike,
    }
}
