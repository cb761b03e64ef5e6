//! Disturbances of a run.

use async_trait::async_trait;
use context_core::BoxError;
use context_simulator::Random;
use context_simulator::proxy::{CutPlan, CuttingProxy};
use tokio::task::yield_now;

/// The longest time for which connections are held or refused, in turns of the runtime.
const TURNS: usize = 2_000;

/// The disturbance of a run: it kills servers, cuts connections or moves a primary while clients
/// make calls. Clients whose calls fail wait until it has ended, most of the time.
#[async_trait]
pub trait Nemesis: Send {
    /// Returns how often a run is disturbed.
    fn strikes(&self) -> u64 {
        1
    }

    /// Disturbs the store, and returns when the store can work again.
    async fn strike(&mut self, random: &mut Random) -> Result<(), BoxError>;
}

/// No disturbance.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calm;

#[async_trait]
impl Nemesis for Calm {
    fn strikes(&self) -> u64 {
        0
    }

    async fn strike(&mut self, _: &mut Random) -> Result<(), BoxError> {
        Ok(())
    }
}

/// Cuts, refuses and delays the connections of a proxy that stands before the server.
#[derive(Debug)]
pub struct CutConnections(pub CuttingProxy);

#[async_trait]
impl Nemesis for CutConnections {
    fn strikes(&self) -> u64 {
        2
    }

    async fn strike(&mut self, random: &mut Random) -> Result<(), BoxError> {
        let proxy = &self.0;
        match random.below(4) {
            0 => proxy.cut_all(),
            1 => proxy.set_plan(CutPlan::random(random.bits(), 3, 4_000)),
            2 => {
                proxy.hold(true);
                turns(random.below(TURNS)).await;
                proxy.hold(false);
            }
            _ => {
                proxy.refuse(true);
                proxy.cut_all();
                turns(random.below(TURNS)).await;
                proxy.refuse(false);
            }
        }
        Ok(())
    }
}

async fn turns(count: usize) {
    for _ in 0..count {
        yield_now().await;
    }
}
