//! adk-session, in which the services are those of the context layer.

use adk_core::{AdkError, Result};
use async_trait::async_trait;
use context_adk::AdkSessions;
use context_runtime::{Error, IdGenerator, Uuid7Ids};
use tokio::sync::OnceCell;

pub use real::*;

/// The variable with the address of the store below [`InMemorySessionService`].
const STORE: &str = "CONTEXT_SUITE_STORE";

/// A service over an empty store, which is opened with the first call.
pub struct Service {
    url: String,
    sessions: OnceCell<AdkSessions>,
}

impl Service {
    /// Each service gets a part of the server, or a file, of its own.
    fn over(store: &str) -> Self {
        let id = Uuid7Ids.next_id().replace('-', "");
        let and = if store.contains('?') { '&' } else { '?' };
        let url = match store.split(':').next() {
            Some("sqlite") => format!("{store}/{id}.db"),
            Some("postgres" | "postgresql") => format!("{store}{and}schema=s{id}"),
            Some("redis") => format!("{store}{and}prefix={id}:"),
            _ => store.to_owned(),
        };
        Self { url, sessions: OnceCell::new() }
    }

    async fn sessions(&self) -> Result<&AdkSessions> {
        let open = async || {
            let store = context_runtime::open(&self.url).await;
            let failed = |error: Error| AdkError::session(error.to_string());
            store.map(AdkSessions::new).map_err(failed)
        };
        self.sessions.get_or_try_init(open).await
    }
}

#[async_trait]
impl SessionService for Service {
    async fn create(&self, req: CreateRequest) -> Result<Box<dyn Session>> {
        self.sessions().await?.create(req).await
    }

    async fn get(&self, req: GetRequest) -> Result<Box<dyn Session>> {
        self.sessions().await?.get(req).await
    }

    async fn list(&self, req: ListRequest) -> Result<Vec<Box<dyn Session>>> {
        self.sessions().await?.list(req).await
    }

    async fn delete(&self, req: DeleteRequest) -> Result<()> {
        self.sessions().await?.delete(req).await
    }

    async fn append_event(&self, session_id: &str, event: Event) -> Result<()> {
        self.sessions().await?.append_event(session_id, event).await
    }

    async fn append_event_for_identity(&self, req: AppendEventRequest) -> Result<()> {
        self.sessions().await?.append_event_for_identity(req).await
    }

    async fn delete_all_sessions(&self, app_name: &str, user_id: &str) -> Result<()> {
        self.sessions().await?.delete_all_sessions(app_name, user_id).await
    }

    async fn rewind(&self, session_id: &str, target_event_id: &str) -> Result<Box<dyn Session>> {
        self.sessions().await?.rewind(session_id, target_event_id).await
    }

    async fn rewind_steps(&self, session_id: &str, steps: usize) -> Result<Box<dyn Session>> {
        self.sessions().await?.rewind_steps(session_id, steps).await
    }

    async fn health_check(&self) -> Result<()> {
        self.sessions().await?.health_check().await
    }
}

/// The service of most tests, over the store that the environment names.
pub type InMemorySessionService = Service;
/// The service of the tests for SQLite.
pub struct SqliteSessionService;
impl Service {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self::over(&std::env::var(STORE).unwrap_or_else(|_| "mem:".to_owned()))
    }

    /// The tests for SQLite ask for it. The store has created its tables already.
    pub async fn migrate(&self) -> Result<()> {
        Ok(())
    }
}

impl SqliteSessionService {
    #[allow(clippy::new_ret_no_self)]
    pub async fn new(_memory: &str) -> Result<Service> {
        let folder = std::env::temp_dir();
        Ok(Service::over(&format!("sqlite:{}", folder.display())))
    }
}
