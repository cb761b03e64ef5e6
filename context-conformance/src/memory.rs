//! Proves that a provider of memories keeps the contract of [`MemoryProvider`].
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use context_conformance::memory::{MemoryClaims, assert_memory_conforms};
//! use context_core::MemoryProvider;
//!
//! async fn conforms(open: impl Fn() -> Arc<dyn MemoryProvider>) {
//!     let asked = assert_memory_conforms(async || open(), &MemoryClaims::default()).await;
//!     assert!(asked.skipped.is_empty(), "{asked:?}");
//! }
//! ```
//!
//! What a provider keeps of a text is its own business, and so is under which part of a scope it
//! files it: the kit says a word that nobody else says, and looks for it. Where it is seen from,
//! the kit finds out first; from then on it must be so everywhere.
//!
//! # What is asked
//!
//! * Nothing is recalled that is not visible from the scope it is asked from, in random captures
//!   and recalls of many scopes.
//! * What was captured comes back behind a flush; a message that is told again counts once: again,
//!   in overlapping turns, at once.
//! * What is forgotten by its name, its message, its session or its scope does not come back, nor
//!   by telling the same message again (but for scopes), nor if it was on its way; the counts are
//!   honest; what was not meant stays.
//! * A budget is kept, the best comes first, and what comes is attributed, as far as the provider
//!   [claims](MemoryClaims) it.
//! * Cancelled calls end, dropped calls harm nothing, hostile texts neither, errors carry no
//!   content.
//!
//! Random cases begin at the seed of [`Settings`], and a failure prints it.

mod calls;
mod forgetting;
mod keeping;
mod scopes;
mod table;

use std::fmt::Write;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use context_core::MemoryProvider;

use crate::checked::{Checked, Stop};
use crate::reported;
use crate::settings::Settings;
use table::Kit;

/// How long a case may take. A provider that hangs is a failure, not a hanging test.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a provider promises beside the contract. What it does not promise, it is not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryClaims {
    /// It keeps what it captures so that the words of a text are found again; one of blocks that
    /// only agents write does not.
    pub captures: bool,
    /// What it recalls says its name, its scope, its source and its time.
    pub attributed: bool,
    /// It keeps within [`max_tokens`](context_core::memory::RecallQuery::max_tokens), by eight
    /// bytes a token at the most.
    pub budgeted: bool,
    /// Scores never rise from one memory to the next.
    pub ranked: bool,
    /// It forgets. One that cannot must refuse, with
    /// [`Unsupported`](context_core::ErrorKind::Unsupported).
    pub forgets: bool,
}

impl Default for MemoryClaims {
    /// All of it.
    fn default() -> Self {
        Self { captures: true, attributed: true, budgeted: true, ranked: true, forgets: true }
    }
}

/// What a provider was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryAsked {
    /// What holds.
    pub passed: Vec<&'static str>,
    /// What was not asked, and why.
    pub skipped: Vec<(&'static str, String)>,
}

pub(crate) type Case<'a> = (&'static str, Pin<Box<dyn Future<Output = Checked> + 'a>>);

/// Makes the cases of a group for a kit.
macro_rules! memory_cases {
    ($($name:ident),+ $(,)?) => {
        pub(super) fn cases<'a>(kit: &'a crate::memory::table::Kit<'_>) ->
            Vec<crate::memory::Case<'a>> {
            vec![$((stringify!($name), Box::pin($name(kit)))),+]
        }
    };
}
pub(crate) use memory_cases;

/// Asks a provider everything, with the settings of the environment. `open` gives a fresh one that
/// remembers nothing, each time it is called.
///
/// # Panics
///
/// With every case that does not hold.
pub async fn assert_memory_conforms<F>(open: impl Fn() -> F, claims: &MemoryClaims) -> MemoryAsked
where
    F: Future<Output = Arc<dyn MemoryProvider>>,
{
    let settings = Settings::from_env();
    let kit = Kit::new(Box::new(|| Box::pin(open())), claims.clone(), settings.clone());
    let mut asked = MemoryAsked::default();
    let mut failures = String::new();
    let subject = reported::package();
    let groups =
        [keeping::cases(&kit), scopes::cases(&kit), forgetting::cases(&kit), calls::cases(&kit)];
    for (name, case) in groups.into_iter().flatten() {
        let verdict = tokio::time::timeout(PATIENCE, case).await;
        match verdict.unwrap_or_else(|_| Err(Stop::Fail("did not end".to_owned()))) {
            Ok(()) => {
                reported::answer("memory", &subject, name, "pass", None);
                asked.passed.push(name);
            }
            Err(Stop::Skip(reason)) => {
                reported::answer("memory", &subject, name, "skip", Some(&reason));
                asked.skipped.push((name, reason));
            }
            Err(Stop::Fail(text)) => {
                reported::answer("memory", &subject, name, "fail", Some(&text));
                let _ = write!(failures, "\nfail {name}: {text}");
            }
        }
    }
    assert!(
        failures.is_empty(),
        "a memory does not keep its contract (seed {:#x}):{failures}",
        settings.seed
    );
    asked
}
