//! The inspector in a real browser.
//!
//! Each test has a server and a browser context of its own, in one Chromium for the whole program.
//! Nothing sleeps: tests wait for what a person would see. Without a browser the tests are ignored,
//! with the command that installs one.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod accessible;
mod actions;
mod cut;
mod demo;
mod driver;
mod file;
mod found;
mod hostile;
mod keyboard;
mod live;
mod memory;
mod pictures;
mod prompt;
mod read_only;
mod run;
mod site;
mod transcripts;

use std::process::ExitCode;
use std::sync::{Arc, LazyLock};

use libtest_mimic::{Arguments, Completion, Trial};
use tokio::runtime::{Builder, Runtime};

use crate::driver::{Browser, INSTALL};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());

/// The browser, started by the first test.
type Shared = Arc<LazyLock<Option<Browser>>>;

/// The outcome of a test: nothing, or why it was not run.
trait Outcome {
    fn into_completion(self) -> Completion;
}

impl Outcome for () {
    fn into_completion(self) -> Completion {
        Completion::Completed
    }
}

impl Outcome for Option<String> {
    fn into_completion(self) -> Completion {
        self.map_or(Completion::Completed, Completion::ignored_with)
    }
}

macro_rules! trials {
    ($browser:expr, $($module:ident::$test:ident),* $(,)?) => {
        vec![$({
            let browser: Shared = Arc::clone(&$browser);
            Trial::ignorable_test(
                concat!(stringify!($module), "::", stringify!($test)),
                move || {
                    let Some(browser) = &**browser else {
                        return Ok(Completion::ignored_with(format!("no Chromium: {INSTALL}")));
                    };
                    Ok(RUNTIME.block_on($module::$test(browser)).into_completion())
                },
            )
        }),*]
    };
}

fn main() -> ExitCode {
    let browser: Shared =
        Arc::new(LazyLock::new(|| Browser::program().as_deref().map(Browser::start)));
    let trials = trials![
        browser,
        // The longest come first, so that no thread waits for another at the end.
        accessible::axe_has_no_serious_finding,
        accessible::nothing_is_wider_than_the_page,
        hostile::content_of_every_field_is_text,
        hostile::names_in_dialogs_and_addresses_are_text,
        keyboard::rows_are_read_without_a_mouse,
        keyboard::actions_are_done_without_a_mouse,
        keyboard::focus_is_seen_and_comes_back,
        keyboard::views_have_keys,
        live::a_page_at_its_end_follows,
        live::a_page_in_the_middle_stays_and_says_how_many_are_new,
        live::an_answer_is_seen_while_it_is_written,
        live::a_second_tab_sees_what_the_first_did,
        live::a_server_that_comes_back_is_followed_again,
        run::a_recorded_run_is_one_selection_in_four_views,
        run::a_chat_that_nobody_recorded_has_a_run,
        run::recorded_chats_have_their_cost_in_the_table,
        run::a_long_round_is_drawn_to_be_read,
        prompt::fragments_are_seen_with_their_origin_and_in_each_format,
        memory::memories_are_recalled_and_forgotten,
        file::a_file_has_its_views_and_needs_no_server,
        file::content_of_a_file_is_text,
        read_only::nothing_can_be_changed,
        actions::branches_are_made_filled_and_chosen,
        cut::what_a_compaction_cut_is_marked_until_it_is_undone,
        found::hits_name_their_chat_and_open_what_hides_them,
        transcripts::claude_code,
        transcripts::provider_requests,
        transcripts::swe_agent,
        transcripts::tau_bench,
        transcripts::toolbench,
        accessible::text_has_its_own_direction,
        accessible::an_empty_store_says_what_to_do,
        pictures::pages_are_pictured,
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
