//! Opening rounds: what is there of them, and how a new one begins.

use std::sync::Arc;

use context_core::ErrorKind;
use context_core::trajectory::RoundRef;
use context_core::trajectory::{EdgeNames, ParentNode, Round};

use crate::RecordError;
use crate::channels::{Channels, graph};
use crate::recorder::Recorder;
use crate::shelf::{Lease, Opened, Shelf};

/// How a round is opened. What is not said is as it is, or as usual.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Which names edges may have.
    pub edge_names: Option<EdgeNames>,
    /// Which node called the agent.
    pub parent: Option<ParentNode>,
}

impl OpenOptions {
    /// As it is, or as usual.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says which names edges may have.
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

/// What opens rounds.
pub(crate) struct Opener {
    pub(crate) channels: Arc<Channels>,
    pub(crate) shelf: Arc<Shelf>,
}

impl Opener {
    /// Opens a round, or joins those who have it open.
    pub(crate) async fn open(
        &self,
        round: &RoundRef,
        options: &OpenOptions,
    ) -> Result<(Opened, Lease), RecordError> {
        round.agent.check("open")?;
        let lease = self.shelf.lease(round);
        let opened = lease.opened(self.build(round, options)).await?;
        check(&opened, options)?;
        Ok((opened, lease))
    }

    /// Opens a round that is not there yet, and writes that it is. Nothing if somebody has it.
    pub(crate) async fn reserve(
        &self,
        round: &RoundRef,
        options: &OpenOptions,
    ) -> Result<Option<(Opened, Lease)>, RecordError> {
        let lease = self.shelf.lease(round);
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

    async fn build(&self, round: &RoundRef, options: &OpenOptions) -> Result<Opened, RecordError> {
        let graph = match self.channels.restore(round).await? {
            Some(record) => graph(record)?,
            None => self.begun(round, options).await?,
        };
        let edge_names = options.edge_names.clone().unwrap_or_default();
        let recorder = Recorder::new(graph.edge_names(edge_names.clone()), self.channels.clone());
        let history = self.shelf.history(&round.agent, &self.channels);
        Ok(Opened { recorder: Arc::new(recorder), history, edge_names })
    }

    /// A round that is not there yet goes on with the numbers of the one before it. Where that
    /// cannot be read, the present begins anew: numbers are for people, and no round needs another
    /// to be told apart.
    async fn begun(&self, round: &RoundRef, options: &OpenOptions) -> Result<Round, RecordError> {
        let mut graph = Round::new(round.clone(), self.channels.clock.now());
        if round.round > 0 {
            match self.channels.newest(&round.agent, Some(round.round)).await {
                Ok(Some(earlier)) => graph = graph.continuing(&earlier),
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::Corrupt => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(open) = self.shelf.open_below(&round.agent, round.round).last() {
                graph = graph.continuing(&open.head());
            }
        }
        Ok(match options.parent {
            Some(parent) => graph.below(parent),
            None => graph,
        })
    }
}

fn check(opened: &Opened, options: &OpenOptions) -> Result<(), RecordError> {
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
