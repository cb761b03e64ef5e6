//! The native half of the Python package `context-layer`, imported as `context_layer._native`.
//!
//! Every object has two faces over the same operations: a blocking one (`Store`, `Chat`, …) and one
//! for asyncio (`AsyncStore`, `AsyncChat`, …), with the same methods. The operations are async
//! functions over the facade; the macro `faces!` writes both faces of an object from one list. The
//! interpreter is released while Rust works.
//!
//! Values cross as plain Python data in the JSON forms that the library documents. Errors cross as
//! exceptions, one class for each kind.

#[macro_use]
mod faces;

mod agents;
mod bridge;
mod chat;
mod codec;
mod error;
mod json;
mod memory;
mod message_form;
mod prepare;
mod slot;
mod store;
mod trajectory;
mod turn;

use pyo3::prelude::*;

/// The native module.
#[pymodule(gil_used = true)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    bridge::register(module)?;
    error::register(module)?;
    codec::register(module)?;
    store::register(module)?;
    chat::register(module)?;
    agents::register(module)?;
    turn::register(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
