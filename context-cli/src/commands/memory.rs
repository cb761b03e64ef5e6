//! `memory`: memories of earlier conversations: recall, list, add, forget, count, quarantine, uses.

pub(super) mod add;
mod capture;
pub(super) mod forget;
mod lines;
mod list;
pub(super) mod memory_view;
pub(super) mod quarantine;
pub(super) mod recall;
mod session_memories;
mod source_args;
pub(super) mod stats;
pub(super) mod uses;

use std::sync::Arc;

use context_runtime::memory::{Episodic, ScopeLevel};
use context_runtime::{
    Error, ErrorKind, Store, limits,
    memory::MemoryScope,
    store::{Cursor, MemoryRecordStore, MemoryStats, PageWalk},
};

use crate::app::{App, Outcome};
use crate::error::Failure;

/// Search, list, add and forget memories.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context memory recall 'which tickets did I buy?'   the best first, with time and source
  context memory recall tickets --prompt     the very text that a model would be shown
  context memory list --kind fact            the newest first
  context memory add 'I fly from Lisbon only.'
  context memory add --chat support-7        what was said in a chat that was imported
  context memory forget --from-session support-7
  context memory quarantine --from-session support-7   kept, and not recalled
  context memory uses 3f01d18de1ea430c0c7eae7a31f4f34b   the turns that it reached
  context memory stats                       how much there is, scope by scope

A memory belongs to a user (--user) and, if they are named, to a project, an agent and a session.
A memory is visible from every scope that names at least what its own scope names: a memory of the
user alone is visible to all their agents and sessions, a memory of a session only in that session.
There are three kinds: an `episode` is a remembered message, a `fact` is a statement (subject,
relation, object) with the time in which it holds, a `block` is a named note that is always shown.")]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(subcommand)]
    action: Action,
}

/// The parts of a scope other than the user.
#[derive(clap::Args, Debug)]
struct ScopeArgs {
    /// Within this project, such as a folder or a customer
    #[arg(long, global = true, value_name = "NAME", help_heading = "Scope")]
    project: Option<String>,
    /// With this agent
    #[arg(long, global = true, value_name = "NAME", help_heading = "Scope")]
    agent: Option<String>,
    /// Within this session
    #[arg(long, global = true, value_name = "NAME", help_heading = "Scope")]
    session: Option<String>,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Search memories, best match first
    Recall(recall::Args),
    /// List memories, newest first
    List(list::Args),
    /// Remember a text, a fact, a note, a file of texts or a chat
    Add(add::Args),
    /// Forget memories, and check by reading back
    Forget(forget::Args),
    /// Take memories out of recall, and keep them
    Quarantine(quarantine::Args),
    /// Recall memories in quarantine again
    Release(quarantine::ReleaseArgs),
    /// List quarantines, newest first
    Quarantined(quarantine::ListArgs),
    /// List the turns in which a memory was used
    Uses(uses::Args),
    /// Count memories by scope
    Stats(stats::Args),
}

impl Args {
    /// Returns whether the command writes text that a person reads.
    pub(crate) fn only_looks(&self) -> bool {
        use Action::{List, Quarantined, Recall, Stats, Uses};
        matches!(self.action, List(_) | Recall(_) | Quarantined(_) | Uses(_) | Stats(_))
    }
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let ScopeArgs { project, agent, session } = args.scope;
    let mut scope = MemoryScope::new(app.user.clone());
    (scope.project, scope.agent, scope.session) = (project, agent, session.map(Into::into));
    match args.action {
        Action::Recall(args) => recall::run(args, scope, app).await,
        Action::List(args) => list::run(args, scope, app).await,
        Action::Add(args) => add::run(args, scope, app).await,
        Action::Forget(args) => forget::run(args, scope, app).await,
        Action::Quarantine(args) => quarantine::run(args, scope, app).await,
        Action::Release(args) => quarantine::release(args, scope, app).await,
        Action::Quarantined(args) => quarantine::list(args, scope, app).await,
        Action::Uses(args) => uses::run(args, scope, app).await,
        Action::Stats(args) => stats::run(&args, &scope, app).await,
    }
}

/// Returns the store's memory ability, or an error if it has none.
fn records_of(store: &dyn Store) -> Result<&dyn MemoryRecordStore, Failure> {
    let missing = || {
        let info = store.info();
        let why = match info.encrypted {
            true => "this store is encrypted and keeps no memories",
            false => "this store keeps no memories",
        };
        Error::new(ErrorKind::Unsupported, "memories", why).with("store", info.name)
    };
    Ok(store.memories().ok_or_else(missing)?)
}

/// Returns an episodic provider whose memories are filed under exactly this scope.
fn episodic(store: &Arc<dyn Store>, scope: &MemoryScope) -> Result<Episodic, Failure> {
    Ok(Episodic::new(Arc::clone(store))?.scope_level(exactly(scope)))
}

/// Returns the scope level that keeps everything a scope names.
fn exactly(scope: &MemoryScope) -> ScopeLevel {
    if scope.session.is_some() { ScopeLevel::Session } else { ScopeLevel::Agent }
}

/// Returns the statistics of this scope and of all scopes within it.
async fn stats_within(
    records: &dyn MemoryRecordStore,
    scope: &MemoryScope,
) -> Result<Vec<MemoryStats>, Failure> {
    let read = |after: Option<Cursor>| async move {
        records.memory_stats(&scope.user, limits::MAX_PAGE, after.as_ref()).await
    };
    let mut all = PageWalk::new("memory_stats", "scope").collect(read).await?;
    all.retain(|stats| scope.covers(&stats.scope));
    Ok(all)
}
