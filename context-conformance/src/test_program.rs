//! Test programs whose tests find out only when they run whether they can.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use tokio::runtime::Builder;

use crate::missing::Missing;

/// A test program, for a target with `harness = false`. Its tests may call
/// [`server_url`](crate::server_url), [`test_data`](crate::test_data) and
/// [`Missing::ignore_test`], and are reported as ignored, with the reason, if something is missing.
/// The standard harness of Rust decides at build time which tests are ignored.
///
/// The macro [`test_program!`](crate::test_program) generates the `main` of such a program.
#[derive(Default)]
pub struct TestProgram {
    trials: Vec<Trial>,
}

impl TestProgram {
    /// Makes a program without a test.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a test with its name.
    #[must_use]
    pub fn test(mut self, name: &str, test: impl FnOnce() + Send + 'static) -> Self {
        self.trials.push(Trial::ignorable_test(name, move || asked(test)));
        self
    }

    /// Adds an asynchronous test with its name. It gets a runtime of its own, with one thread.
    #[must_use]
    pub fn async_test<F: Future<Output = ()>>(
        self,
        name: &str,
        test: impl FnOnce() -> F + Send + 'static,
    ) -> Self {
        self.awaited(name, Builder::new_current_thread, test)
    }

    /// Adds an asynchronous test with its name. It gets a runtime of its own, with several threads.
    #[must_use]
    pub fn multi_thread_test<F: Future<Output = ()>>(
        self,
        name: &str,
        test: impl FnOnce() -> F + Send + 'static,
    ) -> Self {
        self.awaited(name, Builder::new_multi_thread, test)
    }

    fn awaited<F: Future<Output = ()>>(
        mut self,
        name: &str,
        runtime: fn() -> Builder,
        test: impl FnOnce() -> F + Send + 'static,
    ) -> Self {
        let trial = Trial::ignorable_test(name, move || {
            let runtime = runtime().worker_threads(4).enable_all().build()?;
            asked(|| runtime.block_on(test()))
        });
        self.trials.push(trial);
        self
    }

    /// Runs the tests that the arguments of the process select, and returns the exit code.
    pub fn run(self) -> ExitCode {
        libtest_mimic::run(&Arguments::from_args(), self.trials).exit_code()
    }
}

/// Runs a test, whose failure is a panic.
fn asked(test: impl FnOnce()) -> Result<Completion, Failed> {
    match catch_unwind(AssertUnwindSafe(test)) {
        Ok(()) => Ok(Completion::Completed),
        Err(end) => match end.downcast::<Missing>() {
            Ok(missing) => Ok(Completion::ignored_with(missing)),
            Err(failure) => resume_unwind(failure),
        },
    }
}

/// Generates the `main` of a [`TestProgram`]: lists its asynchronous tests, those on several
/// threads, and the others. Each list may be left out, and an item may
/// have a `#[cfg(…)]`. The compiler warns of a function that is in none.
///
/// ```no_run
/// async fn a_row_is_read_back() {
///     let _url = context_conformance::server_url("CONTEXT_TEST_POSTGRES_URL");
///     // …
/// }
///
/// mod recorded {
///     pub fn every_session_is_read() {
///         let _folder = context_conformance::test_data("data/claude-code");
///         // …
///     }
/// }
///
/// context_conformance::test_program! {
///     async { a_row_is_read_back }
///     fn { recorded::every_session_is_read }
/// }
/// ```
#[macro_export]
macro_rules! test_program {
    (
        $(async { $($(#[$awaited_if:meta])* $awaited:path),* $(,)? })?
        $(multi_thread { $($(#[$shared_if:meta])* $shared:path),* $(,)? })?
        $(fn { $($(#[$called_if:meta])* $called:path),* $(,)? })?
    ) => {
        fn main() -> ::std::process::ExitCode {
            let program = $crate::TestProgram::new();
            $($(
                $(#[$awaited_if])*
                let program = program.async_test(stringify!($awaited), $awaited);
            )*)?
            $($(
                $(#[$shared_if])*
                let program = program.multi_thread_test(stringify!($shared), $shared);
            )*)?
            $($(
                $(#[$called_if])*
                let program = program.test(stringify!($called), $called);
            )*)?
            program.run()
        }
    };
}
