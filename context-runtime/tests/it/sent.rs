//! Requests recomputed afterwards: equal to what was sent, each piece accounted for, and each
//! broken prefix named with its reason.

mod causes;
mod checkpoints;
mod live;
mod pieces;
mod transcripts;
#[cfg(feature = "trajectory")]
mod turn_costs;
