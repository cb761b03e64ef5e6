//! The plug-ins whose features are on.

pub(crate) mod codecs;
pub(crate) mod crates;
pub(crate) mod policies;
