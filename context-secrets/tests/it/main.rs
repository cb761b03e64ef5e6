//! Tests of the finder of secrets.

mod corpus;
mod finds;
mod laws;
mod recorded;
mod spares;
