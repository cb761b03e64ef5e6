//! A recording process.

use std::sync::Arc;

use context_conformance::FixedClock;
use context_runtime::trajectory::{
    OpenOptions, RecordError, RoundRecord, Trajectories, Trajectory,
};
use context_runtime::{Clock, Store, store::TrajectoryStore, trajectory::AgentRef};
use context_simulator::faults::{FaultPlan, FaultStore};

use crate::run_storage::{Channels, RunStorage};
use crate::script::{Event, Script};

/// The time of the first step. Each step takes a second.
const BEGIN: i64 = 1_700_000_000_000_000;
const SECOND: i64 = 1_000_000;

pub(crate) struct Process {
    trajectories: Trajectories,
    clock: Arc<FixedClock>,
}

impl Process {
    pub(crate) async fn start(place: &RunStorage, plan: FaultPlan) -> Self {
        let clock = Arc::new(FixedClock::at(BEGIN));
        let files: Arc<dyn TrajectoryStore> = Arc::new(place.files());
        let builder = match place.channels {
            Channels::Files => Trajectories::over(files),
            Channels::Both => {
                let store: Arc<dyn Store> = Arc::new(FaultStore::new(place.store().await, plan));
                Trajectories::builder(store).channel(files)
            }
        };
        Self { trajectories: builder.clock(clock.clone()).build().unwrap(), clock }
    }

    /// Returns the rounds after every channel got what it lacked.
    pub(crate) async fn restored(&self, agent: &AgentRef) -> Result<Vec<RoundRecord>, RecordError> {
        let mut restored = Vec::new();
        for round in self.trajectories.trajectory(agent).await?.rounds() {
            let context = self.trajectories.open(round.round(), OpenOptions::new()).await?;
            restored.push(context.round().to_record());
        }
        Ok(restored)
    }

    /// Runs a step, and returns when it is written.
    pub(crate) async fn step(&self, script: &Script, n: usize) -> Result<(), RecordError> {
        let step = &script.steps[n];
        let late = BEGIN + n as i64 * SECOND - self.clock.now().as_micros();
        self.clock.advance(late);
        let context =
            self.trajectories.open(&script.agent.round(step.round), OpenOptions::new()).await?;
        match &step.event {
            Event::Ask(query) => context.ask(query.clone()).await.map(drop),
            Event::Step(step) => context.record_step(step).await,
            Event::Close(state) => context.close(*state).await,
        }
    }

    /// Returns the current round of a step.
    pub(crate) async fn round(&self, script: &Script, n: usize) -> RoundRecord {
        let round = script.agent.round(script.steps[n].round);
        self.trajectories.open(&round, OpenOptions::new()).await.unwrap().round().to_record()
    }

    /// Returns the rounds up to the newest, as their recorder sees them.
    pub(crate) async fn trajectory(&self, script: &Script) -> Trajectory {
        let newest = script.steps.iter().map(|step| step.round).max().unwrap();
        let context =
            self.trajectories.open(&script.agent.round(newest), OpenOptions::new()).await.unwrap();
        context.trajectory().await.unwrap()
    }
}
