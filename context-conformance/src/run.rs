//! Runs one case, or all cases with a report or an assertion.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use context_core::store::Durability;

use crate::case::{Case, Requires};
use crate::case_context::CaseContext;
use crate::cases;
use crate::report::{CaseResult, Line, Report};
use crate::settings::{CaseSettings, is_selected};
use crate::store_fixture::StoreFixture;
use crate::verdict::Verdict;

/// The time limit of a case. A store that hangs fails the case instead of hanging the test.
const PATIENCE: Duration = Duration::from_secs(300);
/// The additional time for each killed process.
const PER_KILL: Duration = Duration::from_millis(500);
/// The additional time for each checked history.
const PER_HISTORY: Duration = Duration::from_secs(2);

/// Runs the whole suite. The report contains the failures, including panics of the store.
///
/// Needs a tokio runtime. Races need a multi-threaded one.
pub async fn run(subject: impl StoreFixture) -> Report {
    let settings = subject.settings().or_from_env();
    run_with(Arc::new(subject), &settings, |case| is_selected(case.group, case.name)).await
}

/// Runs the cases that `wanted` selects, with the given settings.
pub async fn run_with(
    subject: Arc<dyn StoreFixture>,
    settings: &CaseSettings,
    wanted: impl Fn(&Case) -> bool + Send,
) -> Report {
    let mut results = Vec::new();
    for case in cases::all().filter(|case| wanted(case)) {
        let verdict = run_case(Arc::clone(&subject), settings, case, false).await;
        results.push(CaseResult { case, verdict });
    }
    Report { subject: subject.name().to_owned(), seed: settings.seed, results }
}

/// Runs the whole suite. Panics with the report if a case fails.
pub async fn assert_conforms(subject: impl StoreFixture) {
    let report = run(subject).await;
    assert!(report.conforms(), "{report}");
}

/// Runs one case in a task of its own, which contains a panic, and appends it to the report file.
///
/// `children` is whether the program can run itself as a child process.
pub(crate) async fn run_case(
    subject: Arc<dyn StoreFixture>,
    settings: &CaseSettings,
    case: &'static Case,
    children: bool,
) -> Verdict {
    let named = Arc::clone(&subject);
    let begin = Line::begin(named.name(), settings.seed, case.group, case.name);
    begin.append();
    let verdict = run_unreported(subject, settings, case, children).await;
    begin.end(&verdict).append();
    verdict
}

async fn run_unreported(
    subject: Arc<dyn StoreFixture>,
    settings: &CaseSettings,
    case: &'static Case,
    children: bool,
) -> Verdict {
    let context = CaseContext::new(
        subject,
        settings.clone(),
        format!("{}-{}", case.group, case.name),
        children,
    );
    let task = tokio::spawn(async move {
        match lacks(&context, case.requires).await {
            Some(verdict) => verdict,
            None => (case.run)(&context).await,
        }
    });
    let abort = task.abort_handle();
    let patience = PATIENCE + PER_KILL * settings.kills + PER_HISTORY * settings.histories;
    match tokio::time::timeout(patience, task).await {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(error)) if error.is_panic() => {
            Verdict::Fail(format!("panicked: {}", panic_text(&*error.into_panic())))
        }
        Ok(Err(_)) => Verdict::Fail("the runtime went away".to_owned()),
        Err(_) => {
            abort.abort();
            Verdict::Fail(format!("did not end within {} s", patience.as_secs()))
        }
    }
}

/// Returns the text of a panic.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a text")
}

/// Returns the reason to not run a case: a skip if the store does not claim the ability, a failure
/// if it does.
async fn lacks(context: &CaseContext, requires: Requires) -> Option<Verdict> {
    if requires == Requires::Nothing {
        return None;
    }
    let store = match context.open("ability").await {
        Ok(store) => store,
        Err(stop) => return Some(Err(stop).into()),
    };
    let info = store.info();
    let (absent, claimed, ability) = match requires {
        Requires::Nothing => (false, false, ""),
        Requires::Durable if info.durability == Durability::Process => {
            return Some(Verdict::Skip("not durable: it ends with the process".to_owned()));
        }
        Requires::Durable => {
            drop(store);
            match context.subject().reopen(&context.namespace("ability")).await {
                Ok(reopened) => (reopened.is_none(), true, "durability"),
                Err(error) => return Some(Err(error.into()).into()),
            }
        }
        Requires::SecondHandle => {
            match context.subject().second_handle(&context.namespace("ability")).await {
                Ok(second) => (second.is_none(), info.shared, "to be shared"),
                Err(error) => return Some(Err(error.into()).into()),
            }
        }
        Requires::Maintenance => (store.maintenance().is_none(), false, "maintenance"),
        Requires::Kill | Requires::SecondProcess => {
            let (claimed, ability) = match requires {
                Requires::Kill => (info.durability > Durability::Process, "to outlive a process"),
                _ => (info.shared, "to be shared by processes"),
            };
            if claimed && !context.children {
                return Some(Verdict::Skip("needs a test program of conformance_main!".to_owned()));
            }
            (!claimed || context.location("ability").is_err(), claimed, ability)
        }
        Requires::FragmentLog => (store.fragment_log().is_none(), false, "a fragment log"),
        Requires::RefLog => (store.ref_log().is_none(), false, "a log of references"),
        Requires::Search => (store.search().is_none(), false, "search"),
        Requires::Blobs => (store.blobs().is_none(), false, "blobs"),
        Requires::Streams => (store.streams().is_none(), false, "streams"),
        Requires::Leases => (store.leases().is_none(), false, "leases"),
        Requires::Memories => (store.memories().is_none(), false, "memories"),
        Requires::Trajectories => (store.trajectories().is_none(), false, "trajectories"),
    };
    match (absent, claimed) {
        (false, _) => None,
        (true, true) => {
            Some(Verdict::Fail(format!("claims {ability}, but the subject gives no way to see it")))
        }
        (true, false) => Some(Verdict::Skip(format!("does not claim {ability}"))),
    }
}
