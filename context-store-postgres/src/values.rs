//! Conversions between stored columns and values.

pub(crate) mod display;
pub(crate) mod numbers;
pub(crate) mod place;
pub(crate) mod rows;
