//! The Redis store of the context layer.
