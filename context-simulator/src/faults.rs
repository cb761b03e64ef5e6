//! A store wrapper that injects faults into chosen calls, before or after they take effect.

mod fragment_log;
mod memories;
mod plan;
mod ref_log;
mod rounds;
mod store;
mod streams;

pub use plan::{Fault, FaultPlan, Operation, PlannedFault};
pub use store::FaultStore;
