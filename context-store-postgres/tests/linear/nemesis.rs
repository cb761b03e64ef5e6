//! The disturbances: a killed server, and a standby that takes over.

use async_trait::async_trait;
use context_conformance::linear::Nemesis;
use context_core::BoxError;
use context_servers::{Postgres, ServerError};
use context_simulator::Random;
use context_simulator::proxy::CuttingProxy;
use tokio::task::block_in_place;

/// Kills the server with SIGKILL and starts it again with the same data.
pub(crate) struct Restart(pub(crate) Postgres);

#[async_trait]
impl Nemesis for Restart {
    async fn strike(&mut self, _: &mut Random) -> Result<(), BoxError> {
        block_in_place(|| {
            self.0.kill()?;
            Ok(self.0.restart()?)
        })
    }
}

/// Kills the primary and makes its synchronous standby the primary, at the address of the proxy.
pub(crate) struct FailOver {
    primary: Postgres,
    standby: Postgres,
    proxy: CuttingProxy,
}

impl FailOver {
    pub(crate) fn new(primary: Postgres, proxy: CuttingProxy) -> Result<Self, ServerError> {
        let standby = block_in_place(|| primary.synchronous_standby())?;
        Ok(Self { primary, standby, proxy })
    }
}

#[async_trait]
impl Nemesis for FailOver {
    async fn strike(&mut self, _: &mut Random) -> Result<(), BoxError> {
        block_in_place(|| {
            self.primary.kill()?;
            self.standby.promote()?;
            self.proxy.redirect(self.standby.address().into());
            let next = self.standby.synchronous_standby()?;
            self.primary = std::mem::replace(&mut self.standby, next);
            Ok(())
        })
    }
}
