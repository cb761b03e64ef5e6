//! Errors of a replay.

use context_core::Error;
use context_core::base::display::clean;
use context_core::model::WireError;
use context_tokens::BudgetError;

use crate::runtime::RuntimeFaults;

/// An error of a replay.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// No codec has this name, or its feature is off.
    #[error("there is no provider {}", clean(.provider))]
    Provider {
        /// The name.
        provider: String,
        /// The reason.
        #[source]
        source: Error,
    },
    /// The window of the model is not known, or has no room beside the reserve.
    #[error("the model {} has no budget", clean(.model))]
    Budget {
        /// The model.
        model: String,
        /// The reason.
        #[source]
        source: BudgetError,
    },
    /// No policy has this name, or its feature is off. `summarize` needs a model, which a replay
    /// does not have.
    #[error("there is no policy {} for a replay", clean(.policy))]
    Policy {
        /// The name.
        policy: String,
    },
    /// The options of the runtime are invalid.
    #[error(transparent)]
    Runtime(#[from] RuntimeFaults),
    /// The chain does not begin at its root.
    #[error("the chain begins {skipped} messages after its root: pass the whole chain")]
    NotWhole {
        /// The number of messages that are missing.
        skipped: u64,
    },
    /// The branch has no request of this number.
    #[error("there is no request {number}: the branch has {requests}")]
    NoRequest {
        /// The number.
        number: usize,
        /// The number of requests of the branch.
        requests: usize,
    },
    /// The requests of a difference are out of order.
    #[error("request {before} does not come before request {after}")]
    Order {
        /// The number of the earlier request.
        before: usize,
        /// The number of the later request.
        after: usize,
    },
    /// The history begins with a compaction of another provider, which only that provider can read.
    #[error(
        "request {number} begins with a compaction that another provider made and {} cannot read",
        clean(.provider)
    )]
    Sealed {
        /// The number of the request.
        number: usize,
        /// The provider of the replay.
        provider: String,
    },
    /// The runtime refused the request.
    #[error("request {number} cannot be prepared")]
    Prepare {
        /// The number of the request.
        number: usize,
        /// The reason.
        #[source]
        source: Error,
    },
    /// The provider's form cannot represent the request.
    #[error("request {number} cannot be written for {}", clean(.provider))]
    Lower {
        /// The number of the request.
        number: usize,
        /// The provider.
        provider: String,
        /// The reason.
        #[source]
        source: WireError,
    },
}

context_core::readable_debug!(ReplayError);
