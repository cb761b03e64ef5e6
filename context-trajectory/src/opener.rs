//! Opening rounds: restoring the stored state, and starting new rounds.

use std::sync::Arc;

use context_core::ErrorKind;
use context_core::trajectory::{EdgeNames, ParentNode, Round, RoundHead, RoundRef};

use crate::RecordError;
use crate::channels::{Channels, graph};
use crate::open_rounds::{Lease, OpenRounds, OpenedRound};
use crate::recorder::Recorder;

/// Options for opening a round. An option that is not set keeps its stored value, or gets its
/// default for a new round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The allowed edge names.
    pub edge_names: Option<EdgeNames>,
    /// The node that called the agent.
    pub parent: Option<ParentNode>,
}

impl OpenOptions {
    /// Returns options that keep stored values and defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the allowed edge names.
    #[must_use]
    pub fn edge_names(mut self, names: EdgeNames) -> Self {
        self.edge_names = Some(names);
        self
    }

    /// Sets the node that called the agent.
    #[must_use]
    pub fn parent(mut self, parent: ParentNode) -> Self {
        self.parent = Some(parent);
        self
    }
}

/// Opens rounds on the channels of a recorder.
pub(crate) struct Opener {
    pub(crate) channels: Arc<Channels>,
    pub(crate) open_rounds: Arc<OpenRounds>,
}

impl Opener {
    /// Opens a round, or shares it with the handles that already have it open.
    pub(crate) async fn open(
        &self,
        round: &RoundRef,
        options: &OpenOptions,
    ) -> Result<(OpenedRound, Lease), RecordError> {
        round.agent.check("open")?;
        let lease = self.open_rounds.lease(round);
        let opened = lease.opened(self.build(round, options)).await?;
        check(&opened, options)?;
        Ok((opened, lease))
    }

    /// Opens the round after the newest stored one of its agent.
    pub(crate) async fn open_next(
        &self,
        round: &RoundRef,
        newest: Option<&RoundHead>,
    ) -> Result<(OpenedRound, Lease), RecordError> {
        round.agent.check("open")?;
        let lease = self.open_rounds.lease(round);
        let new = async { Ok(self.opened(self.continued(round, newest), &OpenOptions::new())) };
        let opened = lease.opened(new).await?;
        Ok((opened, lease))
    }

    /// Opens a round that does not exist yet and writes its first commit. Returns `None` if the
    /// round exists or is open already.
    pub(crate) async fn reserve(
        &self,
        round: &RoundRef,
        options: &OpenOptions,
    ) -> Result<Option<(OpenedRound, Lease)>, RecordError> {
        let lease = self.open_rounds.lease(round);
        if !lease.is_fresh() {
            return Ok(None);
        }
        let opened = lease.opened(self.build(round, options)).await?;
        if opened.recorder.round().revision() > 0 {
            return Ok(None);
        }
        let (_, call) = opened.recorder.apply(|_, _| Ok(((), Some(Vec::new()))))?;
        match opened.recorder.save(call).await {
            Ok(()) => Ok(Some((opened, lease))),
            Err(RecordError::Superseded { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn build(
        &self,
        round: &RoundRef,
        options: &OpenOptions,
    ) -> Result<OpenedRound, RecordError> {
        let graph = match self.channels.restore(round).await? {
            Some(record) => graph(record)?,
            None => self.start(round, options).await?,
        };
        Ok(self.opened(graph, options))
    }

    fn opened(&self, graph: Round, options: &OpenOptions) -> OpenedRound {
        let edge_names = options.edge_names.clone().unwrap_or_default();
        let agent_rounds = self.open_rounds.agent_rounds(&graph.round().agent, &self.channels);
        let recorder = Recorder::new(graph.edge_names(edge_names.clone()), self.channels.clone());
        OpenedRound { recorder: Arc::new(recorder), agent_rounds, edge_names }
    }

    /// Starts a new round, which continues the numbering of the round before it. If that round
    /// cannot be read, numbering starts again: numbers are for people, and node ids are unique
    /// without them.
    async fn start(&self, round: &RoundRef, options: &OpenOptions) -> Result<Round, RecordError> {
        let mut earlier = None;
        if round.round > 0 {
            match self.channels.newest(&round.agent, Some(round.round)).await {
                Ok(newest) => earlier = newest,
                Err(error) if error.kind() == ErrorKind::Corrupt => {}
                Err(error) => return Err(error.into()),
            }
        }
        let graph = self.continued(round, earlier.as_ref());
        Ok(match options.parent {
            Some(parent) => graph.below(parent),
            None => graph,
        })
    }

    /// Returns a new round that continues the numbering of the round before it: the stored one, or
    /// one that is open.
    fn continued(&self, round: &RoundRef, stored: Option<&RoundHead>) -> Round {
        let mut graph = Round::new(round.clone(), self.channels.clock.now());
        if let Some(earlier) = stored {
            graph = graph.continuing(earlier);
        }
        if let Some(open) = self.open_rounds.open_below(&round.agent, round.round).last() {
            graph = graph.continuing(&open.head());
        }
        graph
    }
}

fn check(opened: &OpenedRound, options: &OpenOptions) -> Result<(), RecordError> {
    let round = opened.recorder.round();
    let other = |option| {
        Err(RecordError::ConflictingOption {
            round: Box::new(opened.recorder.reference.clone()),
            option,
        })
    };
    if options.parent.is_some() && options.parent != round.head().parent {
        return other("parent");
    }
    match &options.edge_names {
        Some(names) if *names != opened.edge_names => other("edge_names"),
        _ => Ok(()),
    }
}
