//! Stores over stores.
