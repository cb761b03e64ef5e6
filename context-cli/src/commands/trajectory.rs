//! `trajectory`: recorded runs of agents: list, show, draw, export, count, prune, import, record.
//! record.

pub(super) mod import;
pub(super) mod list;
pub(super) mod outline;
pub(super) mod prune;
pub(super) mod record;
mod show;
pub(super) mod stats;
pub(super) mod write;

use std::sync::Arc;

use context_runtime::trajectory::{RoundHead, SessionGraph, Trajectories};
use context_runtime::{
    CancelSignal, Error, ErrorKind, Store, limits,
    store::{PageWalk, RoundQuery, TrajectoryStore},
};

use crate::app::{App, Outcome};
use crate::error::Failure;

/// Inspect the recorded runs of agents.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context trajectory list                    sessions and their rounds
  context trajectory show support-7          the steps of every round, a line each
  context trajectory show support-7 0.3      one node in full
  context trajectory graph support-7 --format mermaid
  context trajectory export support-7 --format otlp --output trace.json
  context trajectory stats support-7         tokens, times, calls and errors by round

A program records a round for each question: its conclusions, actions, answer and data.
`context trajectory record CHAT` records the turns of a stored chat, and `context import FILE
--trajectory` those of a transcript. Nodes are named by round and number, as in 0.3. `context graph`
draws the messages of a chat.")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// List sessions and their rounds
    List(list::Args),
    /// Show rounds step by step, or one node in full
    Show(show::Args),
    /// Draw a session
    Graph(write::GraphArgs),
    /// Write a session in the format of another tool
    Export(write::ExportArgs),
    /// Count nodes, tokens, times, calls and errors
    Stats(stats::Args),
    /// Remove old rounds, or inactive branches
    Prune(prune::Args),
    /// Read rounds that other programs recorded
    Import(import::Args),
    /// Record the turns of a stored chat
    Record(record::Args),
}

impl Args {
    /// Returns whether the command writes text that a person reads.
    pub(crate) fn only_looks(&self) -> bool {
        matches!(
            self.action,
            Action::List(_) | Action::Show(_) | Action::Graph(_) | Action::Stats(_)
        )
    }
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    match args.action {
        Action::List(args) => list::run(args, app).await,
        Action::Show(args) => show::run(args, app).await,
        Action::Graph(args) => write::graph(args, app).await,
        Action::Export(args) => write::export(args, app).await,
        Action::Stats(args) => stats::run(args, app).await,
        Action::Prune(args) => prune::run(args, app).await,
        Action::Import(args) => import::run(args, app).await,
        Action::Record(args) => record::run(args, app).await,
    }
}

/// Returns the store's trajectory ability, or an error if it has none.
fn rounds_of(store: &dyn Store) -> Result<&dyn TrajectoryStore, Failure> {
    let missing = || {
        Error::new(ErrorKind::Unsupported, "trajectories", "this store keeps no trajectories")
            .with("store", store.info().name)
    };
    Ok(store.trajectories().ok_or_else(missing)?)
}

/// Returns all rounds of the user, or of one session, ordered by session, agent and number.
async fn all_rounds(
    app: &App,
    store: &dyn Store,
    session: Option<&str>,
) -> Result<Vec<RoundHead>, Failure> {
    let rounds = rounds_of(store)?;
    let mut query = RoundQuery::of_user(app.user.clone()).limit(limits::MAX_PAGE);
    if let Some(session) = session {
        query = query.session(session);
    }
    let read = |after: Option<_>| {
        let query = query.clone().after(after);
        async move { rounds.rounds(&query).await }
    };
    let mut all = PageWalk::new("rounds", "round").collect(read).await?;
    all.sort_by(|one, other| one.round.cmp(&other.round));
    Ok(all)
}

/// Returns a recorder on the store.
fn recorder(app: &App, store: &Arc<dyn Store>) -> Result<Trajectories, Failure> {
    recorder_with(app, store, CancelSignal::never())
}

/// Returns a recorder that checks a signal between rounds and reports to it.
fn recorder_with(
    app: &App,
    store: &Arc<dyn Store>,
    signal: CancelSignal,
) -> Result<Trajectories, Failure> {
    let host = Arc::new(app.host.clone());
    let builder = Trajectories::builder(Arc::clone(store)).clock(host.clone()).ids(host);
    Ok(builder.cancel(signal).build().map_err(Error::from)?)
}

/// Returns the agents of a session, which must have rounds.
async fn session(
    app: &App,
    store: &Arc<dyn Store>,
    session: &str,
) -> Result<SessionGraph, Failure> {
    let graph = recorder(app, store)?.graph(app.user.clone(), session).await;
    Ok(graph.map_err(Error::from)?)
}
