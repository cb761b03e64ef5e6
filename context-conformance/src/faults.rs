//! A store that fails as it is told: which call, which time, before or after it did its work.

mod memories;
mod plan;
mod rounds;
mod store;
mod streams;

pub use plan::{Fault, FaultPlan, Operation, PlannedFault};
pub use store::FaultStore;
