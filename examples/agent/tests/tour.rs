//! Checks the output of the tour, which is the same on every store, and its page.

use std::error::Error;
use std::sync::Arc;

use context_runtime::Store;

type TestResult = Result<(), Box<dyn Error>>;

/// Runs the tour twice on one store. The second run must not remember the first.
async fn told(store: Arc<dyn Store>) -> TestResult {
    let folder = tempfile::tempdir()?;
    let page = folder.path().join("agent.html");
    for _ in 0..2 {
        let mut said = String::new();
        agent::tour(store.clone(), &page, |line| said.extend([line, "\n"])).await?;
        assert_eq!(said, include_str!("tour.txt"), "what is said is not what tests/tour.txt says");
    }
    let page = std::fs::read_to_string(&page)?;
    // The steps are packed; the view that opens first is not.
    for shown in
        ["data-first=\"/chats/lisbon/run\"", "2 rounds · 14 steps", "run/step?node=0%3A1.4"]
    {
        assert!(page.contains(shown), "the page does not show {shown:?}");
    }
    Ok(())
}

#[tokio::test]
async fn on_sqlite() -> TestResult {
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite:{}", folder.path().join("agent.db").display());
    told(context_runtime::open(&url).await?).await
}

/// Uses its own schema, which is removed with the test server.
#[cfg(feature = "postgres")]
#[tokio::test]
#[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
async fn on_postgres() -> TestResult {
    let server = context_conformance::server_url("CONTEXT_TEST_POSTGRES_URL");
    let url = format!("{server}?schema=agent_{}", std::process::id());
    told(context_runtime::open(&url).await?).await
}
