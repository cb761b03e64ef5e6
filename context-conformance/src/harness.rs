//! The suite as a test program: one test per case, with names, filters and skips that `cargo test`
//! and nextest understand.

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use tokio::runtime::{Builder, Runtime};

use crate::case::Case;
use crate::missing::Missing;
use crate::run::run_case;
use crate::settings::{CaseSettings, is_selected};
use crate::store_fixture::StoreFixture;
use crate::verdict::Verdict;
use crate::{cases, child};

/// Runs the suite for [`conformance_main!`](crate::conformance_main): parses the arguments of the
/// process, runs the selected cases and returns the exit code. Cases about several processes run
/// the program again as a child, whose task an environment variable sets.
pub fn main(subject: impl StoreFixture) -> ExitCode {
    let program = Program::new(subject);
    if let (Ok(program), Some(task)) = (&program, std::env::var(child::VARIABLE).ok()) {
        return program.runtime.block_on(child::main(Arc::clone(&program.subject), &task));
    }
    let arguments = Arguments::from_args();
    let program = match program {
        Ok(program) => Arc::new(program),
        Err(error) => {
            let trial = Trial::test("runtime", move || Err(Failed::from(error)));
            return libtest_mimic::run(&arguments, vec![trial]).exit_code();
        }
    };
    let selected = cases::all().filter(|case| is_selected(case.group, case.name));
    let trials = selected.map(|case| {
        let program = Arc::clone(&program);
        Trial::ignorable_test(case.to_string(), move || program.run(case))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Reports every selected case as ignored, for the `main` of a program whose store cannot be
/// reached here, and returns the exit code.
///
/// ```no_run
/// # use std::process::ExitCode;
/// # fn run(_url: &str) -> ExitCode { ExitCode::SUCCESS }
/// fn main() -> ExitCode {
///     match context_conformance::find_server("CONTEXT_TEST_POSTGRES_URL") {
///         Ok(url) => run(&url),
///         Err(missing) => context_conformance::ignore_all(&missing),
///     }
/// }
/// ```
pub fn ignore_all(missing: &Missing) -> ExitCode {
    let selected = cases::all().filter(|case| is_selected(case.group, case.name));
    let trials = selected.map(|case| {
        let missing = missing.clone();
        Trial::ignorable_test(case.to_string(), move || Ok(Completion::ignored_with(missing)))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

struct Program {
    subject: Arc<dyn StoreFixture>,
    settings: CaseSettings,
    runtime: Runtime,
}

impl Program {
    fn new(subject: impl StoreFixture) -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(4).enable_all().build()?;
        let settings = subject.settings().or_from_env();
        Ok(Self { subject: Arc::new(subject), settings, runtime })
    }

    fn run(&self, case: &'static Case) -> Result<Completion, Failed> {
        let subject = Arc::clone(&self.subject);
        let verdict = self.runtime.block_on(run_case(subject, &self.settings, case, true));
        match verdict {
            Verdict::Pass => Ok(Completion::Completed),
            Verdict::Skip(reason) => Ok(Completion::ignored_with(reason)),
            Verdict::Fail(text) => Err(format!("{text}\nseed {:#x}", self.settings.seed).into()),
        }
    }
}

/// Generates the `main` of a test program for the suite, for a target with `harness = false`. The
/// argument is an expression that creates the [`StoreFixture`](crate::StoreFixture).
///
/// ```no_run
/// # use std::sync::Arc;
/// # use context_conformance::StoreFixture;
/// # use context_core::{Result, Store};
/// # struct MyStore;
/// # #[async_trait::async_trait]
/// # impl StoreFixture for MyStore {
/// #     fn name(&self) -> &str { "mine" }
/// #     async fn open(&self, _: &str) -> Result<Arc<dyn Store>> { Ok(Arc::new(context_store_inmem::InMemoryStore::default())) }
/// #     async fn reopen(&self, _: &str) -> Result<Option<Arc<dyn Store>>> { Ok(None) }
/// #     async fn second_handle(&self, _: &str) -> Result<Option<Arc<dyn Store>>> { Ok(None) }
/// # }
/// context_conformance::conformance_main!(MyStore);
/// ```
#[macro_export]
macro_rules! conformance_main {
    ($subject:expr) => {
        fn main() -> ::std::process::ExitCode {
            $crate::main($subject)
        }
    };
}
