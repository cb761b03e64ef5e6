//! The errors of a commit that does not fit its round.

use context_core::trajectory::TrajectoryError;

use crate::error::Fault;

const OPERATION: &str = "record_round";

pub(crate) fn damaged(problem: impl Into<String>) -> Fault {
    refused(TrajectoryError::Damaged { damage: problem.into() })
}

pub(crate) fn absent(ordinal: u32) -> Fault {
    damaged(format!("node {ordinal} does not exist"))
}

pub(crate) fn refused(error: TrajectoryError) -> Fault {
    error.during(OPERATION).into()
}
