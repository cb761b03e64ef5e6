//! The rules find what they are for, and our own workspace keeps them.

mod conformance;
mod layers;
mod services;
mod tidy;
