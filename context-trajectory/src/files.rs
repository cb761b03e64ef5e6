//! The channel of local files: a trajectory store in a folder.
//!
//! # Layout on disk
//!
//! ```text
//! <root>/<user>/<session>/agent-0.round-3.jsonl       the graph of a round
//! <root>/<user>/<session>/agent-0.round-3.meta.json   its head: question, endpoints, counts
//! ```
//!
//! Users and sessions are arbitrary text, and each has its own folder. Lower-case letters, digits,
//! `-` and `_` stand for themselves; every other byte is written as `%` and two hexadecimal digits.
//! Names longer than 120 characters end in `~` and a hash. The folder of `users/Ada` is
//! `users%2f%41da`.
//!
//! The graph file has one line per commit, each with a checksum, after a header that names the
//! format:
//!
//! ```text
//! {"check":"…","record":{"form":"context round","version":1}}
//! {"check":"…","record":{"commit":{"key":"…","head":{…},"changes":[{"node_added":{…}},{"edge_added":{…}}]}}}
//! ```
//!
//! A file may start with `{"snapshot":{"key":"…","round":{"head":{…},"nodes":[…],"edges":[…]}}}`,
//! the state after the commits that the snapshot replaced. A record whose JSON has line feeds
//! between its tokens is written as a JSON string. Bridges between rounds are never stored, as they
//! follow from the rounds.
//!
//! The head file is `{"form":"context round head","version":1,"bytes":…,"lines":…,"head":{…}}`. It
//! may be older than the graph: `bytes` says how much of the graph file it covers, and a listing
//! reads the rest from the graph. The head file may be deleted, since the graph file is complete.
//!
//! # Guarantees
//!
//! * A commit is one line, written with one call, and therefore atomic. A partial line that a crash
//!   left is skipped by readers and cut off by the next writer.
//! * A loss of power loses nothing that a [synced](FileChannel::synced) channel has acknowledged.
//!   Of a channel that does not sync, each round may lose its newest commits, and reads as it was
//!   before them.
//! * Any other damage is an error of the kind [`Corrupt`](context_core::ErrorKind::Corrupt) that
//!   names file and line, and the file is not written to again. Other rounds are not affected.
//! * Several channels, also in several processes, may share a folder. A writer holds a file lock on
//!   the round's file. On a file system without locks there must be only one writer.
//! * A file in which more bytes are superseded than current is compacted: written anew next to the
//!   old file, synced, and renamed over it. The same happens when a round ends. A file is at most
//!   twice as long as the round needs, or 64 KiB.
//!
//! Clocks, ids, copying between channels and a search over many users are not provided here; the
//! recorder copies between channels.

mod form;
mod graph_file;
mod head;
mod names;
mod paths;
mod slots;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use context_core::store::{
    Durability, MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery,
    RoundsPruned, TrajectoryStore,
};
use context_core::trajectory::{AgentRef, RoundHead, RoundRecord};
use context_core::{ChatId, Error, ErrorKind, MessageId, Result, Retry, SessionId, UserId};

use self::form::FoldedRound;
use self::graph_file::{FileStatus, GraphFile};
use self::paths::{RoundPaths, SessionFolder, agent_rounds, session_folders};
use self::slots::Slots;

/// The maximum number of times that a file may be replaced between opening and locking.
const TRIES: usize = 100;
/// Ranges of up to this many rounds are looked up by file name instead of listing the folder.
const FEW: u32 = 64;

/// A trajectory store in files below a folder. Cheap to clone. Clones share open files.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::trajectory::AgentRef;
/// use context_core::trajectory::NewQuery;
/// use context_trajectory::{FileChannel, OpenOptions, Trajectories};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let folder = tempfile::tempdir()?;
/// let files = Arc::new(FileChannel::new(folder.path()));
/// let trajectories = Trajectories::over(files.clone()).build()?; // or `builder(store).channel(files)`
/// let round = AgentRef::main("ada", "trip").round(0);
/// trajectories.open(&round, OpenOptions::new()).await?.ask(NewQuery::new("Where is it warm?")).await?;
/// assert!(folder.path().join("ada/trip/agent-0.round-0.jsonl").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FileChannel(Arc<Shared>);

struct Shared {
    root: PathBuf,
    sync: bool,
    slots: Slots,
}

impl fmt::Debug for FileChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileChannel")
            .field("root", &self.0.root)
            .field("durability", &self.durability())
            .finish()
    }
}

impl FileChannel {
    /// Creates a channel on a folder, which is created with the first commit. A commit survives a
    /// crash of the process. The most recent commits may be lost on a power failure
    /// ([`Durability::ProcessCrash`]).
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::with(root.into(), false)
    }

    /// Creates a channel like [`new`](Self::new) in which each commit waits until it is on disk
    /// ([`Durability::PowerLoss`]).
    pub fn synced(root: impl Into<PathBuf>) -> Self {
        Self::with(root.into(), true)
    }

    fn with(root: PathBuf, sync: bool) -> Self {
        Self(Arc::new(Shared { root, sync, slots: Slots::default() }))
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Returns the kind of failure that a commit survives once its call has returned.
    pub fn durability(&self) -> Durability {
        if self.0.sync { Durability::PowerLoss } else { Durability::ProcessCrash }
    }

    /// Closes all open files and updates their head files. Later calls open the files again.
    pub async fn close(&self) -> Result<()> {
        self.run("close", |shared| {
            shared.slots.drain().into_iter().try_for_each(|slot| shared.settle("close", &slot))
        })
        .await
    }

    /// Runs file operations on the blocking thread pool. The work runs to its end even if the
    /// caller is cancelled.
    async fn run<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Shared) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let shared = self.0.clone();
        let done = tokio::task::spawn_blocking(move || work(&shared)).await;
        done.unwrap_or_else(|error| {
            let ended =
                Error::new(ErrorKind::Unavailable, operation, "the file operation was ended");
            Err(ended.with_retry(Retry::Never).with_source(error))
        })
    }
}

impl Shared {
    fn record(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
        const OPERATION: &str = "record_round";
        let paths = RoundPaths::new(&self.root, &commit.head.round);
        let (slot, put_away) = self.slots.of(&commit.head.round);
        for old in put_away {
            // The commits are written. Only the head file is outdated, which listings can handle.
            let _ = self.settle(OPERATION, &old);
        }
        let mut slot = slots::lock(&slot);
        let mut tries = 0;
        loop {
            if slot.is_none() && paths.bytes(OPERATION)?.is_none() {
                if commit.expected > 0 {
                    return Ok(RecordOutcome::Conflict { actual: 0 });
                }
                // An invalid commit is refused before a file is created.
                FoldedRound::apply(
                    &mut None,
                    OPERATION,
                    &commit.key,
                    &commit.head,
                    &commit.changes,
                )?;
                paths.make_folders(OPERATION, self.sync)?;
            }
            let recorded = match slot.take() {
                Some(open) => Ok(open),
                None => GraphFile::open(OPERATION, paths.clone()).and_then(|open| {
                    if self.sync {
                        paths.sync_folders(OPERATION, &self.root)?;
                    }
                    Ok(open)
                }),
            }
            .and_then(|mut open| {
                let (outcome, after) = open.record(OPERATION, commit, self.sync)?;
                if after == FileStatus::Open {
                    *slot = Some(open);
                }
                Ok(outcome)
            });
            tries += 1;
            match recorded {
                Err(error) if was_moved(&error) && tries < TRIES => {}
                recorded => return recorded,
            }
        }
    }

    fn load(&self, operation: &'static str, paths: &RoundPaths) -> Result<Option<RoundRecord>> {
        if let Some(slot) = self.slots.get(&paths.round) {
            let mut slot = slots::lock(&slot);
            if let Some(mut open) = slot.take() {
                match open.load(operation) {
                    Ok(record) => {
                        *slot = Some(open);
                        return Ok(record);
                    }
                    Err(error) if was_moved(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        graph_file::read(operation, paths)
    }

    fn load_range(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> Result<Vec<RoundRecord>> {
        const OPERATION: &str = "load_rounds";
        let numbers: Vec<u32> = match rounds.end().checked_sub(*rounds.start()) {
            None => return Ok(Vec::new()),
            Some(more) if more < FEW => rounds.collect(),
            Some(_) => {
                let known = agent_rounds(OPERATION, &self.root, agent)?;
                known.into_iter().filter(|number| rounds.contains(number)).collect()
            }
        };
        let rounds =
            numbers.into_iter().map(|number| RoundPaths::new(&self.root, &agent.round(number)));
        rounds.filter_map(|paths| self.load(OPERATION, &paths).transpose()).collect()
    }

    /// Returns the sessions of a user by name. The name of a session whose folder name is hashed is
    /// read from its rounds.
    fn sessions(
        &self,
        operation: &'static str,
        user: &UserId,
        only: Option<&SessionId>,
    ) -> Result<BTreeMap<String, SessionFolder>> {
        let mut sessions = BTreeMap::new();
        for folder in session_folders(operation, &self.root, user, only)? {
            let name = match &folder.session {
                Some(name) => Some(name.clone()),
                None => head::session_in(operation, &folder)?,
            };
            sessions.extend(name.map(|name| (name, folder)));
        }
        Ok(sessions)
    }

    fn list(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
        const OPERATION: &str = "rounds";
        let after = query.after_round()?;
        let mut items: Vec<RoundHead> = Vec::new();
        for (session, folder) in self.sessions(OPERATION, &query.user, query.session.as_ref())? {
            let mut rounds = folder.rounds.clone();
            rounds.sort_unstable_by_key(|(agent, round)| (*agent, std::cmp::Reverse(*round)));
            for (agent, round) in rounds {
                let wanted = query.agent.is_none_or(|number| number == agent)
                    && query.before.is_none_or(|before| round < before)
                    && after.as_ref().is_none_or(|(known, number, last)| {
                        let (here, there) = ((session.as_str(), agent), (known.as_str(), *number));
                        here > there || (here == there && round < *last)
                    });
                if !wanted {
                    continue;
                }
                let paths = folder.paths(&query.user, &session, (agent, round));
                if let Some(head) = head::read(OPERATION, &paths)? {
                    if items.len() == query.limit {
                        let next = items.last().map(|last| last.round.cursor());
                        return Ok(Page { items, next });
                    }
                    items.push(head);
                }
            }
        }
        Ok(Page { items, next: None })
    }

    fn of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>> {
        const OPERATION: &str = "nodes_of_message";
        let mut found = Vec::new();
        for (session, folder) in self.sessions(OPERATION, user, None)? {
            for numbers in &folder.rounds {
                let paths = folder.paths(user, &session, *numbers);
                let Some(record) = self.load(OPERATION, &paths)? else { continue };
                let linked = record.nodes.iter().filter(|node| {
                    node.messages.iter().any(|link| link.chat == *chat && link.message == *message)
                });
                found.extend(
                    linked.map(|node| MessageNode::new(paths.round.agent.clone(), node.id)),
                );
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    fn prune(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
        const OPERATION: &str = "prune_rounds";
        let mut pruned = RoundsPruned::default();
        for (session, folder) in self.sessions(OPERATION, &prune.user, prune.session.as_ref())? {
            for numbers in &folder.rounds {
                if prune.agent.is_none_or(|agent| agent == numbers.0) {
                    let paths = folder.paths(&prune.user, &session, *numbers);
                    self.prune_one(OPERATION, prune, &paths, &mut pruned)?;
                }
            }
        }
        Ok(pruned)
    }

    fn prune_one(
        &self,
        operation: &'static str,
        prune: &RoundPrune,
        paths: &RoundPaths,
        pruned: &mut RoundsPruned,
    ) -> Result<()> {
        let by_name = prune.updated_until.is_none();
        match head::read(operation, paths) {
            Ok(Some(head)) if !prune.takes(&head) => return Ok(()),
            Ok(_) => {}
            // A round that cannot be read is removed only if all rounds are to be removed.
            Err(error) if by_name && is_damage(&error) => {}
            Err(error) => return Err(error),
        }
        let slot = self.slots.get(&paths.round);
        let mut slot = slot.as_ref().map(|slot| slots::lock(slot));
        for _ in 0..TRIES {
            // Opening would create a file.
            if paths.bytes(operation)?.is_none() {
                return Ok(());
            }
            let open = match slot.as_mut().and_then(|slot| slot.take()) {
                Some(open) => Ok(open),
                None => GraphFile::open(operation, paths.clone()),
            };
            match open.and_then(|mut open| open.remove_if(operation, |head| prune.takes(head))) {
                Ok(gone) => {
                    gone.iter().for_each(|head| pruned.count(head));
                    return Ok(());
                }
                Err(error) if was_moved(&error) => {}
                Err(error) if by_name && is_damage(&error) => {
                    paths.remove(operation)?;
                    pruned.rounds += 1;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::new(
            ErrorKind::Unavailable,
            operation,
            "other writers keep writing to the round",
        ))
    }

    fn settle(&self, operation: &'static str, slot: &slots::Slot) -> Result<()> {
        match slots::lock(slot).take().map(|mut open| open.settle(operation, self.sync)) {
            Some(Err(error)) if !was_moved(&error) => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns whether a file was replaced or removed after it was opened.
fn was_moved(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound)
}

fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid | ErrorKind::Unsupported)
}

#[async_trait]
impl TrajectoryStore for FileChannel {
    async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
        commit.check()?;
        let commit = commit.clone();
        self.run("record_round", move |shared| shared.record(&commit)).await
    }

    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> Result<Vec<RoundRecord>> {
        agent.check("load_rounds")?;
        let agent = agent.clone();
        self.run("load_rounds", move |shared| shared.load_range(&agent, rounds)).await
    }

    async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
        query.check()?;
        let query = query.clone();
        self.run("rounds", move |shared| shared.list(&query)).await
    }

    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>> {
        let (user, chat, message) = (user.clone(), chat.clone(), message.clone());
        self.run("nodes_of_message", move |shared| shared.of_message(&user, &chat, &message)).await
    }

    async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
        prune.check()?;
        let prune = prune.clone();
        self.run("prune_rounds", move |shared| shared.prune(&prune)).await
    }
}
