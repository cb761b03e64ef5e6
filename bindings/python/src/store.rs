//! Stores.

use std::sync::Arc;

use context_runtime::store::{
    ChatQuery, Cursor, Durability, Page, SearchHit, SearchQuery, SearchScope,
};
use context_runtime::{
    BranchName, ChatId, ChatRef, Error, ErrorKind, Json, JsonMap, Result, Role, Store as Backend,
    Timestamp, UserId,
};
use pyo3::prelude::*;
use serde::Serialize;

use crate::agents::{Agents, AgentsOperations, AsyncAgents};
use crate::bridge::{self, Face};
use crate::chat::{AsyncChat, Chat, ChatOperations};
use crate::json::{JsonArgument, Reply};
use crate::slot::Slot;

/// Adds the classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Store>()?;
    module.add_class::<AsyncStore>()
}

/// A store with chats, memories and trajectories.
pub(crate) struct StoreOperations {
    pub(crate) backend: Arc<dyn Backend>,
}

/// A page of a listing.
#[derive(Serialize)]
pub(crate) struct Listing<T> {
    pub(crate) items: Vec<T>,
    /// The cursor of the next page. `None` on the last page.
    pub(crate) next: Option<Cursor>,
}

impl<T> From<Page<T>> for Listing<T> {
    fn from(page: Page<T>) -> Self {
        Self { items: page.items, next: page.next }
    }
}

#[derive(Serialize)]
struct Info {
    name: &'static str,
    durability: &'static str,
    shared: bool,
    encrypted: bool,
    warning: Option<&'static str>,
}

/// A message that a search found.
#[derive(Serialize)]
struct Hit {
    chat: ChatId,
    message: context_runtime::MessageId,
    role: Role,
    created_at: Timestamp,
    score: f64,
    text: String,
}

impl From<SearchHit> for Hit {
    fn from(hit: SearchHit) -> Self {
        let SearchHit { chat, message, role, created_at, score, snippet, .. } = hit;
        Self { chat: chat.chat, message, role, created_at, score, text: snippet.text }
    }
}

/// Returns the error for an ability that the store lacks.
pub(crate) fn missing(store: &dyn Backend, ability: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, "store", "the store lacks this ability")
        .with("ability", ability)
        .with("store", store.info().name)
}

/// Searches the messages of a user, of one chat or of all.
pub(crate) async fn search(
    store: &dyn Backend,
    user: UserId,
    scope: SearchScope,
    text: String,
    limit: usize,
    after: Option<String>,
    prefix: bool,
) -> Result<Reply> {
    let index = store.search().ok_or_else(|| missing(store, "search"))?;
    let mut query = SearchQuery::new(user, text);
    (query.scope, query.prefix, query.limit) = (scope, prefix, limit);
    query.after = after.map(Cursor::new);
    let page = index.search(&query).await?;
    Reply::json(&Listing {
        items: page.items.into_iter().map(Hit::from).collect(),
        next: page.next,
    })
}

impl StoreOperations {
    async fn open(url: String) -> Result<Reply> {
        let backend = context_runtime::open(&url).await?;
        let operations = Arc::new(Self { backend });
        Ok(Reply::Object(Box::new(move |py, face| match face {
            Face::Blocking => Ok(Py::new(py, Store { operations })?.into_any()),
            Face::Asyncio => Ok(Py::new(py, AsyncStore { operations })?.into_any()),
        })))
    }

    fn info(&self) -> Result<Reply> {
        let info = self.backend.info();
        Reply::json(&Info {
            name: info.name,
            durability: match info.durability {
                Durability::Process => "process",
                Durability::Server => "server",
                Durability::ProcessCrash => "process_crash",
                Durability::PowerLoss => "power_loss",
                _ => "unknown",
            },
            shared: info.shared,
            encrypted: info.encrypted,
            warning: info.warning,
        })
    }

    async fn close(&self) -> Result<Reply> {
        self.backend.close().await?;
        Ok(Reply::none())
    }

    async fn chats(
        &self,
        user: String,
        limit: usize,
        after: Option<String>,
        metadata: Option<JsonArgument>,
    ) -> Result<Reply> {
        let mut query = ChatQuery::new(user);
        (query.limit, query.after) = (limit, after.map(Cursor::new));
        if let Some(metadata) = metadata {
            let wanted: JsonMap = metadata.parse("chats")?;
            query.metadata = wanted.into_iter().collect::<Vec<(String, Json)>>();
        }
        Reply::json(&Listing::from(self.backend.history().list_chats(&query).await?))
    }

    async fn chat(
        &self,
        user: String,
        chat: String,
        branch: Option<String>,
        existing: bool,
        metadata: Option<JsonArgument>,
    ) -> Result<Reply> {
        let store = Arc::clone(&self.backend);
        let branch = branch.map(BranchName::from);
        let metadata = metadata.map(|given| given.parse("chat")).transpose()?.unwrap_or_default();
        let chat = ChatRef::new(user, chat);
        let slot = Slot::open(store, chat, branch, existing, metadata).await?;
        Ok(chat_object(slot))
    }

    async fn delete_chat(&self, user: String, chat: String) -> Result<Reply> {
        let chat = ChatRef::new(user, chat);
        Reply::json(&self.backend.history().delete_chat(&chat, None).await?)
    }

    async fn search(
        &self,
        user: String,
        text: String,
        limit: usize,
        after: Option<String>,
        prefix: bool,
    ) -> Result<Reply> {
        let scope = SearchScope::User;
        search(&*self.backend, user.into(), scope, text, limit, after, prefix).await
    }

    async fn agents(&self, model: String, record: bool, freeze_prompt: bool) -> Result<Reply> {
        let operations =
            AgentsOperations::build(Arc::clone(&self.backend), model, record, freeze_prompt)?;
        let operations = Arc::new(operations);
        Ok(Reply::Object(Box::new(move |py, face| match face {
            Face::Blocking => Ok(Py::new(py, Agents { operations })?.into_any()),
            Face::Asyncio => Ok(Py::new(py, AsyncAgents { operations })?.into_any()),
        })))
    }
}

/// Makes the reply for an opened chat.
pub(crate) fn chat_object(slot: Slot) -> Reply {
    let operations = Arc::new(ChatOperations { slot });
    Reply::Object(Box::new(move |py, face| match face {
        Face::Blocking => Ok(Py::new(py, Chat { operations })?.into_any()),
        Face::Asyncio => Ok(Py::new(py, AsyncChat { operations })?.into_any()),
    }))
}

faces! {
    StoreOperations => Store, AsyncStore;
    both {
        /// The properties of the store.
        #[getter]
        fn info(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
            let info = self.operations.info();
            info.map_err(|error| crate::error::exception(py, &error))?
                .into_python(py, Face::Blocking)
        }

        fn __repr__(&self) -> String {
            format!("<store {}>", self.operations.backend.info().name)
        }
    }
    blocking {
        /// Opens the store at a URL.
        #[staticmethod]
        fn open(py: Python<'_>, url: String) -> PyResult<Py<PyAny>> {
            bridge::wait(py, Face::Blocking, StoreOperations::open(url))
        }

        /// The same store for asyncio.
        fn to_async(&self) -> AsyncStore {
            AsyncStore { operations: Arc::clone(&self.operations) }
        }
    }
    asyncio {
        /// Opens the store at a URL.
        #[staticmethod]
        fn open(py: Python<'_>, url: String) -> PyResult<Py<PyAny>> {
            bridge::start(py, StoreOperations::open(url))
        }

        /// The same store for blocking code.
        fn to_blocking(&self) -> Store {
            Store { operations: Arc::clone(&self.operations) }
        }
    }

    /// Releases files and connections.
    fn close();

    /// Lists chats of a user, newest activity first.
    #[pyo3(signature = (user, *, limit=100, after=None, metadata=None))]
    fn chats(user: String, limit: usize, after: Option<String>, metadata: Option<JsonArgument>);

    /// Opens a chat, which is created if it does not exist.
    #[pyo3(signature = (user, chat, *, branch=None, existing=false, metadata=None))]
    fn chat(
        user: String,
        chat: String,
        branch: Option<String>,
        existing: bool,
        metadata: Option<JsonArgument>,
    );

    /// Deletes a chat and everything in it.
    fn delete_chat(user: String, chat: String);

    /// Searches the messages of all chats of a user.
    #[pyo3(signature = (user, text, *, limit=20, after=None, prefix=false))]
    fn search(user: String, text: String, limit: usize, after: Option<String>, prefix: bool);

    /// Remembers a text.
    #[pyo3(signature = (user, text, *, speaker=None, project=None, agent=None, session=None))]
    fn remember(
        user: String,
        text: String,
        speaker: Option<String>,
        project: Option<String>,
        agent: Option<String>,
        session: Option<String>,
    );

    /// Remembers the messages of a chat's branch.
    #[pyo3(signature = (user, chat, *, branch=None, project=None, agent=None))]
    fn capture(
        user: String,
        chat: String,
        branch: Option<String>,
        project: Option<String>,
        agent: Option<String>,
    );

    /// Recalls memories that are relevant to a text.
    #[pyo3(signature = (
        user, text, *, limit=8, max_tokens=None, project=None, agent=None, session=None
    ))]
    fn recall(
        user: String,
        text: String,
        limit: usize,
        max_tokens: Option<u64>,
        project: Option<String>,
        agent: Option<String>,
        session: Option<String>,
    );

    /// Forgets memories by id, or everything within a scope.
    #[pyo3(signature = (user, *, ids=None, project=None, agent=None, session=None))]
    fn forget(
        user: String,
        ids: Option<Vec<String>>,
        project: Option<String>,
        agent: Option<String>,
        session: Option<String>,
    );

    /// Lists recorded rounds of a user, newest first.
    #[pyo3(signature = (user, *, session=None, limit=100, after=None))]
    fn rounds(user: String, session: Option<String>, limit: usize, after: Option<String>);

    /// Exports what was recorded of a session.
    #[pyo3(signature = (user, session, *, format="rounds".to_owned()))]
    fn trajectory(user: String, session: String, format: String);

    /// Makes agents, whose turns ask a model through this program.
    #[pyo3(signature = (model, *, record=true, freeze_prompt=false))]
    fn agents(model: String, record: bool, freeze_prompt: bool);
}
