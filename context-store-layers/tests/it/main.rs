//! What layers do beside passing the suite.

mod cached;
mod desk;
mod retry;
mod retry_property;
mod split;
mod traced;
