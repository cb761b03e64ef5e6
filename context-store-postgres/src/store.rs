//! The store: the store traits, each call forwarded to its implementation.

use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use context_core::base::{CheckpointName, FragmentId, limits};
use context_core::message::Placed;
use context_core::store::{
    BlobStore, Branch, BranchDeletion, ChainEnd, Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary,
    CheckReport, Checkpoint, Commit, CommitOutcome, Created, Cursor, Erasure, FragmentStore,
    HistoryStore, Maintenance, MemoryRecordStore, NewChat, Page, Revision, SearchHit, SearchQuery,
    SearchStore, StoreInfo, StoredFragment, StreamStore, TrajectoryStore, Vacuumed, Window,
};
use context_core::{
    BranchName, CancelSignal, Chain, ChatRef, Error, ErrorKind, MessageId, Result, Store,
    Timestamp, UserId,
};

use crate::config::PostgresConfig;
use crate::error::Fault;
use crate::history::ends::Ends;
use crate::pool::{Pool, Work};
use crate::schema::Facts;
use crate::scope::lock_chat;
use crate::{
    check, database, fragments,
    history::{append, branches, chat_rows, chats, checkpoints, commit, listing, messages, read},
    schema, search, sql,
    upkeep::erase,
};

/// A store in one schema of a PostgreSQL database. Keep it in an `Arc` to share it between tasks.
pub struct PostgresStore(Shared);

/// The shared state. It implements the store traits in place of [`PostgresStore`], so that
/// `store.fragments()` is not ambiguous.
pub(crate) struct Shared {
    pub(crate) pool: Pool,
    ends: Ends,
    schema: String,
    pub(crate) facts: Facts,
}

impl PostgresStore {
    /// Opens a store, creates its database if it does not exist, and upgrades its schema. Several
    /// processes may open the same store at once. With [`read_only`](PostgresConfig::read_only)
    /// nothing is created or written.
    ///
    /// Returns [`ErrorKind::Unsupported`](context_core::ErrorKind::Unsupported) if a newer program
    /// wrote the schema, if another program uses it, if a store of an older version is opened
    /// read-only, if the server is older than version 13, or if the database is not encoded in
    /// UTF-8. Returns [`ErrorKind::NotFound`](context_core::ErrorKind::NotFound) if the store or
    /// the database does not exist and must not be created. Returns
    /// [`ErrorKind::Unavailable`](context_core::ErrorKind::Unavailable) if the server cannot be
    /// reached.
    pub async fn open(config: PostgresConfig) -> Result<Self> {
        config.check()?;
        let pool = Pool::new(&config);
        let opened = match schema::begin(&pool, &config).await {
            Err(fault)
                if fault.is_no_database() && config.may_create() && config.create_database =>
            {
                match database::create(&config).await {
                    Ok(()) => schema::begin(&pool, &config).await,
                    Err(fault) => Err(fault),
                }
            }
            opened => opened,
        };
        let facts = opened.map_err(|fault| {
            let missing = fault.is_no_database().then(|| database::name(&config)).flatten();
            let error = fault.during("open").with("schema", &config.schema);
            match missing {
                Some(name) => error.with("database", name),
                None => error,
            }
        })?;
        Ok(Self(Shared { pool, ends: Ends::default(), schema: config.schema, facts }))
    }

    /// Whether vectors of memories are compared in the server, by the extension pgvector.
    pub fn pgvector(&self) -> bool {
        self.0.facts.pgvector.is_some()
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = &self.0.facts;
        f.debug_struct("PostgresStore")
            .field("schema", &self.0.schema)
            .field("durability", &facts.durability)
            .field("full_text", &facts.full_text)
            .field("pgvector", &facts.pgvector.is_some())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn info(&self) -> StoreInfo {
        StoreInfo::new("postgres", self.0.facts.durability, true).warning(self.0.facts.warning)
    }

    fn history(&self) -> &dyn HistoryStore {
        &self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &self.0
    }

    fn search(&self) -> Option<&dyn SearchStore> {
        self.0.facts.full_text.then_some(&self.0 as &dyn SearchStore)
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        Some(&self.0)
    }

    fn streams(&self) -> Option<&dyn StreamStore> {
        Some(&self.0)
    }

    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        Some(&self.0)
    }

    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        Some(&self.0)
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(&self.0)
    }

    /// Closes the connections. A connection in use is closed when its operation ends. A pool of the
    /// caller stays open.
    async fn close(&self) -> Result<()> {
        self.0.pool.close().await.map_err(|fault| fault.during("close"))
    }
}

/// Runs the body with a connection on which the work has begun, and adds the operation to its
/// errors.
macro_rules! work {
    ($shared:ident, $operation:literal, $work:expr, $user:expr, |$session:ident| $body:expr) => {{
        let work = async {
            let mut lease = $shared.pool.begin($work, Some($user)).await?;
            let $session = &mut lease;
            let result: Result<_, Fault> = async { $body }.await;
            lease.end(result).await
        };
        $shared.pool.in_time(work).await.map_err(|fault| fault.during($operation))
    }};
}
pub(crate) use work;

#[async_trait]
impl HistoryStore for Shared {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        new.check()?;
        let user = new.chat.user.clone();
        work!(self, "create_chat", Work::Write, &user, |session| chats::create(session, new).await)
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        work!(self, "chat", Work::Read, &chat.user, |session| {
            Ok(chat_rows::read(session, chat).await?.map(|(_, chat)| chat))
        })
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        query.check()?;
        let work = if query.metadata.is_empty() { Work::Read } else { Work::Snapshot };
        work!(self, "list_chats", work, &query.user, |session| listing::list(session, query).await)
    }

    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        limits::check_chat("update_chat", chat)?;
        work!(self, "update_chat", Work::Write, &chat.user, |session| {
            chats::update(session, chat, patch, at).await
        })
    }

    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        work!(self, "delete_chat", Work::Write, &chat.user, |session| {
            chats::delete(session, chat, idle_since).await
        })
    }

    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize> {
        work!(self, "chat_size", Work::Read, &chat.user, |session| chats::size(session, chat).await)
    }

    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        work!(self, "rename_branch", Work::Write, &chat.user, |session| {
            branches::rename(session, chat, branch, to, at).await
        })
    }

    async fn delete_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion> {
        work!(self, "delete_branch", Work::Write, &chat.user, |session| {
            branches::delete(session, chat, branch, expected, at).await
        })
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
        commit.check()?;
        let full_text = self.facts.full_text;
        let appended =
            self.pool.in_time(append::append(&self.pool, &self.ends, full_text, &commit)).await;
        if let Some(committed) = appended.map_err(|fault| fault.during("commit"))? {
            return Ok(CommitOutcome::Applied(committed));
        }
        work!(self, "commit", Work::Write, &commit.chat.user, |session| {
            commit::commit(session, full_text, &commit).await
        })
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        work!(self, "branches", Work::Read, &chat.user, |session| branches::branches(session, chat)
            .await)
    }

    async fn activate_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        work!(self, "activate_branch", Work::Write, &chat.user, |session| {
            branches::activate(session, chat, branch, at).await
        })
    }

    async fn set_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        message: &MessageId,
        at: Timestamp,
    ) -> Result<Checkpoint> {
        limits::check_id("set_checkpoint", "checkpoint", name.as_str())?;
        let checkpoint = Checkpoint::new(name.clone(), message.clone(), at);
        work!(self, "set_checkpoint", Work::Write, &chat.user, |session| {
            checkpoints::set(session, chat, checkpoint).await
        })
    }

    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
        work!(self, "checkpoints", Work::Read, &chat.user, |session| {
            checkpoints::list(session, "checkpoints", chat).await
        })
    }

    async fn delete_checkpoint(&self, chat: &ChatRef, name: &CheckpointName) -> Result<bool> {
        work!(self, "delete_checkpoint", Work::Write, &chat.user, |session| {
            checkpoints::delete(session, chat, name).await
        })
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        work!(self, "chain", Work::Read, &chat.user, |session| read::chain(
            session, chat, end, window
        )
        .await)
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<Placed>>> {
        work!(self, "messages", Work::Snapshot, &chat.user, |session| {
            messages::messages(session, chat, ids).await
        })
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Placed>> {
        work!(self, "all_messages", Work::Snapshot, &chat.user, |session| {
            messages::all_messages(session, chat, limit, after).await
        })
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        work!(self, "revisions", Work::Read, &chat.user, |session| {
            messages::revisions(session, chat, message).await
        })
    }
}

#[async_trait]
impl FragmentStore for Shared {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        work!(self, "fragments", Work::Read, &chat.user, |session| fragments::of(session, chat)
            .await)
    }

    async fn put_fragments(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
        at: Timestamp,
    ) -> Result<()> {
        const OPERATION: &str = "put_fragments";
        fragments.iter().try_for_each(|fragment| fragment.check(OPERATION))?;
        work!(self, "put_fragments", Work::Write, &chat.user, |session| {
            let no = lock_chat(session, OPERATION, chat).await?;
            fragments::put(session, no, fragments).await?;
            chat_rows::touch(session, no, at).await
        })
    }

    async fn remove_fragment(&self, chat: &ChatRef, id: &FragmentId) -> Result<bool> {
        work!(self, "remove_fragment", Work::Write, &chat.user, |session| {
            let no = lock_chat(session, "remove_fragment", chat).await?;
            let remove = session.query(sql::REMOVE_FRAGMENT).bind(no).bind(id.as_str().as_bytes());
            Ok(session.execute(remove).await? > 0)
        })
    }
}

#[async_trait]
impl SearchStore for Shared {
    async fn search(&self, query: &SearchQuery) -> Result<Page<SearchHit>> {
        query.check()?;
        work!(self, "search", Work::Snapshot, &query.user, |session| search::search(session, query)
            .await)
    }
}

#[async_trait]
impl Maintenance for Shared {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        let checked = check::check(&self.pool, self.facts.full_text, cancel).await;
        checked.map_err(|fault| fault.during("check"))
    }

    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        limits::check_page("users", limit)?;
        let work = async {
            let mut session = self.pool.begin(Work::Look, None).await?;
            let users = listing::users(&mut session, limit, after).await;
            session.end(users).await
        };
        self.pool.in_time(work).await.map_err(|fault| fault.during("users"))
    }

    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        limits::check_id("erase_user", "user", user.as_str())?;
        let erased = erase::erase_user(&self.pool, &self.schema, user, cancel).await;
        erased.map_err(|fault| fault.during("erase_user"))
    }

    async fn vacuum(&self) -> Result<Vacuumed> {
        erase::vacuum(&self.pool, &self.schema).await.map_err(|fault| fault.during("vacuum"))
    }

    async fn backup(&self, _to: &Path) -> Result<()> {
        let message = "backups of a database are made with pg_dump or pg_basebackup";
        Err(Error::new(ErrorKind::Unsupported, "backup", message).with("schema", &self.schema))
    }
}
