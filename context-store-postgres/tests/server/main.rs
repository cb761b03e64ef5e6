//! Tests beyond the conformance suite: schemas and their versions, connections, round trips,
//! row-level security, blobs and streams, memories. Without a server they are ignored.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod blobs_and_streams;
mod connections;
mod damage;
mod database;
mod durability;
mod every_column;
mod fixture;
mod memories;
mod memories_load;
mod memory_tables;
mod partitions;
mod proxy;
mod reading;
mod round_tables;
mod round_trips;
mod rounds;
mod row_security;
mod schemas;
mod search;
mod together;

context_conformance::test_program! {
    async {
        blobs_and_streams::the_check_finds_what_is_wrong_beside_messages,
        blobs_and_streams::appending_to_a_stream_and_reading_on_are_one_round_trip_each,
        blobs_and_streams::another_role_sees_blobs_and_streams_of_the_user_it_names,
        connections::a_pool_of_the_program_is_used_and_left_open,
        connections::without_a_cache_no_statement_stays_prepared,
        connections::a_broken_connection_is_replaced,
        connections::nobody_waits_forever,
        connections::servers_that_are_not_there_are_said_to_be_unavailable,
        damage::a_change_in_any_table_is_an_error_when_it_is_read_and_a_finding_of_the_check,
        damage::a_change_in_any_column_of_a_round_is_an_error_and_a_finding,
        damage::a_store_of_the_version_before_gets_its_checksums,
        database::a_role_that_may_not_make_it_is_told_what_to_do,
        durability::each_transaction_ends_as_its_commit_asks,
        durability::a_server_that_waits_for_more_goes_on_doing_so,
        durability::a_replay_flushes_what_was_written_without_waiting,
        every_column::the_check_finds_a_change_in_every_column_and_the_loss_of_a_row_of_every_table,
        memories_load::what_fits_best_is_found_among_very_many,
        memory_tables::the_check_finds_what_is_wrong_with_memories,
        memory_tables::erasing_a_user_leaves_no_memory_and_no_mark,
        memory_tables::another_role_sees_memories_of_the_user_it_names,
        memory_tables::another_role_sees_memories_of_the_user_it_names_with_pgvector,
        memory_tables::pgvector_may_be_used_by_some_and_not_by_others,
        partitions::turns_of_a_user_touch_one_partition,
        partitions::the_number_is_that_of_the_schema,
        partitions::an_upgrade_leaves_the_partitions,
        partitions::the_last_number_is_followed_by_an_error,
        partitions::policies_hold_for_partitions,
        reading::reading_changes_no_row_and_writing_is_refused,
        reading::a_schema_without_a_store_is_not_made_and_not_called_sound,
        reading::a_database_that_is_not_there_is_named_and_not_made,
        reading::a_store_of_an_older_version_is_not_brought_up_to_date_by_looking,
        reading::a_schema_of_another_program_is_left_alone_however_it_is_opened,
        reading::an_empty_schema_may_become_a_store,
        round_tables::people_ask_with_plain_sql,
        round_tables::recording_and_loading_are_one_round_trip_each,
        round_tables::the_check_finds_what_is_wrong_with_rounds,
        round_tables::another_role_sees_rounds_of_the_user_it_names,
        round_tables::of_several_processes_one_wins_each_revision,
        round_tables::erasing_a_user_takes_rounds_too,
        round_trips::the_usual_calls_are_one_each,
        row_security::another_role_sees_what_its_transaction_names,
        row_security::tables_that_an_upgrade_adds_have_policies_too,
        schemas::several_processes_may_make_it_at_once,
        schemas::a_newer_schema_is_refused_and_not_touched,
        schemas::what_may_not_be_made_is_refused,
        schemas::a_store_without_full_text_has_no_search,
        schemas::schemas_may_have_odd_names,
        schemas::every_text_may_hold_a_nul,
        schemas::it_says_what_the_server_promises,
        schemas::no_words_wait_in_an_index,
        search::a_message_of_very_many_words_is_found_by_each,
        search::operators_of_the_server_are_text,
        together::calls_that_wait_share_a_statement,
        together::each_append_of_a_group_has_its_own_outcome,
        together::a_locked_chat_does_not_delay_the_others,
        // Run by tests, in processes of their own.
        schemas::one_of_several_processes,
        round_tables::one_that_writes_to_a_round,
    }
    multi_thread {
        schemas::many_may_make_it_at_once,
        database::it_is_made_by_the_first_of_those_that_open_it,
        memories_load::of_several_writers_of_a_new_memory_one_writes_it,
        memories_load::of_several_writers_of_a_version_one_wins,
        memories_load::writing_and_forgetting_at_once_leaves_what_is_counted_right,
        connections::sixteen_writers_of_one_branch,
        blobs_and_streams::bytes_shared_by_chats_that_come_and_go_stay_whole,
    }
    fn {
        memories::what_is_remembered_is_what_the_reference_remembers,
        memories::with_pgvector_it_is_the_same,
        rounds::what_is_committed_is_loaded_as_the_reference_loads_it,
    }
}
