//! Contract tests for implementations of [`MemoryProvider`].
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use context_conformance::memory::{MemoryClaims, assert_memory_conforms};
//! use context_core::MemoryProvider;
//!
//! async fn conforms(open: impl Fn() -> Arc<dyn MemoryProvider>) {
//!     let report = assert_memory_conforms(async || open(), &MemoryClaims::default()).await;
//!     assert!(report.skipped.is_empty(), "{report:?}");
//! }
//! ```
//!
//! A provider may store any form of a text, and may file it under any part of a scope. The suite
//! therefore captures a word that occurs nowhere else and searches for it. It first finds out which
//! scopes see the word. From then on, this visibility must be the same everywhere.
//!
//! # Coverage
//!
//! * A recall returns nothing that is not visible from its scope, in random captures and recalls of
//!   many scopes.
//! * Captured content is recalled after a flush. A message that is captured again counts once:
//!   again, in overlapping turns, and concurrently.
//! * Content that is forgotten by name, message, session or scope does not come back. It does not
//!   come back when the same message is captured again (except after forgetting a scope), nor when
//!   a capture was in flight. The reported counts are correct, and unrelated content stays.
//! * Recall keeps within its budget, returns the best match first and attributes each memory, as
//!   far as the provider [claims](MemoryClaims) to.
//! * No memory below a least class of trust is recalled. If the provider has a
//!   [review](MemoryProvider::review): memories in quarantine are not recalled until they are
//!   released, forgetting reaches them, and uses are found by their memory.
//! * Cancelled calls end, dropped calls and hostile texts do no harm, and errors carry no content.
//!
//! Random cases start from the seed of [`CaseSettings`], and a failure prints it.

mod calls;
mod capture;
mod forgetting;
mod probe;
mod review;
mod scopes;

use std::env;
use std::fmt::Write;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use context_core::MemoryProvider;

use crate::settings::CaseSettings;
use crate::suite_check::SuiteCheck;
use crate::verdict::{Check, Stop, Verdict};
use probe::Kit;

/// The time limit of a case. A provider that hangs fails the case instead of hanging the test.
const PATIENCE: Duration = Duration::from_secs(120);

/// The optional promises of a provider. The suite does not test a promise that is not claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryClaims {
    /// Whether captured text can be recalled by its words. A provider of blocks that only agents
    /// write does not capture.
    pub captures: bool,
    /// Whether recalled memories carry their name, scope, source and time.
    pub attributed: bool,
    /// Whether recall keeps within [`max_tokens`](context_core::memory::RecallQuery::max_tokens),
    /// counted at no more than eight bytes per token.
    pub budgeted: bool,
    /// Whether recall returns memories by descending score.
    pub ranked: bool,
    /// Whether the provider can forget. A provider that cannot must refuse with
    /// [`Unsupported`](context_core::ErrorKind::Unsupported).
    pub forgets: bool,
}

impl Default for MemoryClaims {
    /// Claims everything.
    fn default() -> Self {
        Self { captures: true, attributed: true, budgeted: true, ranked: true, forgets: true }
    }
}

/// The outcome of the suite for a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemorySuiteReport {
    /// The cases that passed.
    pub passed: Vec<&'static str>,
    /// The skipped cases, each with the reason.
    pub skipped: Vec<(&'static str, String)>,
}

pub(crate) type Case<'a> = (&'static str, Pin<Box<dyn Future<Output = Check> + 'a>>);

/// Defines the function that returns the cases of a group.
macro_rules! memory_cases {
    ($($name:ident),+ $(,)?) => {
        pub(super) fn cases<'a>(kit: &'a crate::memory::probe::Kit<'_>) ->
            Vec<crate::memory::Case<'a>> {
            vec![$((stringify!($name), Box::pin($name(kit)))),+]
        }
    };
}
pub(crate) use memory_cases;

/// Runs the suite on a provider, with the settings of the environment. `open` returns a fresh
/// provider without memories on each call.
///
/// # Panics
///
/// If a case fails. The message lists all failed cases.
pub async fn assert_memory_conforms<F>(
    open: impl Fn() -> F,
    claims: &MemoryClaims,
) -> MemorySuiteReport
where
    F: Future<Output = Arc<dyn MemoryProvider>>,
{
    let settings = CaseSettings::from_env();
    let kit = Kit::new(Box::new(|| Box::pin(open())), claims.clone(), settings.clone());
    let mut report = MemorySuiteReport::default();
    let mut failures = String::new();
    // A provider has no name, but its package has.
    let package = env::var("CARGO_PKG_NAME");
    let suite = SuiteCheck::new("memory", package.as_deref().unwrap_or("memory"));
    let groups = [
        capture::cases(&kit),
        scopes::cases(&kit),
        forgetting::cases(&kit),
        review::cases(&kit),
        calls::cases(&kit),
    ];
    for (name, case) in groups.into_iter().flatten() {
        if !suite.begin(name) {
            continue;
        }
        let checked = tokio::time::timeout(PATIENCE, case).await;
        let checked = checked.unwrap_or_else(|_| Err(Stop::Fail("did not end".to_owned())));
        let verdict = Verdict::from(checked);
        suite.end(name, &verdict);
        match verdict {
            Verdict::Pass => report.passed.push(name),
            Verdict::Skip(reason) => report.skipped.push((name, reason)),
            Verdict::Fail(text) => {
                let _ = write!(failures, "\nfail {name}: {text}");
            }
        }
    }
    assert!(
        failures.is_empty(),
        "a memory does not keep its contract (seed {:#x}):{failures}",
        settings.seed
    );
    report
}
