//! Requests recomputed afterwards: equal to what was sent, each piece accounted for, and each
//! broken prefix named with its reason.

mod causes;
mod live;
mod pieces;
mod transcripts;
