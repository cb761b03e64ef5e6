//! Exceptions: one class for each kind of error.

use std::error::Error as _;

use context_runtime::{Error, ErrorKind, Retry};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(context_layer, ContextError, PyException, "An error of the context layer.");
create_exception!(context_layer, NotFound, ContextError, "The thing does not exist.");
create_exception!(context_layer, Conflict, ContextError, "A race was lost.");
create_exception!(context_layer, Invalid, ContextError, "The input was refused.");
create_exception!(context_layer, Corrupt, ContextError, "Stored data is damaged.");
create_exception!(context_layer, Unsupported, ContextError, "The backend lacks the ability.");
create_exception!(context_layer, Unavailable, ContextError, "The backend cannot be reached.");
create_exception!(context_layer, Timeout, ContextError, "The backend did not answer in time.");
create_exception!(context_layer, Cancelled, ContextError, "The work was cancelled.");
create_exception!(context_layer, Bug, ContextError, "A bug in the context layer.");

/// Adds the classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("ContextError", py.get_type::<ContextError>())?;
    module.add("NotFound", py.get_type::<NotFound>())?;
    module.add("Conflict", py.get_type::<Conflict>())?;
    module.add("Invalid", py.get_type::<Invalid>())?;
    module.add("Corrupt", py.get_type::<Corrupt>())?;
    module.add("Unsupported", py.get_type::<Unsupported>())?;
    module.add("Unavailable", py.get_type::<Unavailable>())?;
    module.add("Timeout", py.get_type::<Timeout>())?;
    module.add("Cancelled", py.get_type::<Cancelled>())?;
    module.add("Bug", py.get_type::<Bug>())
}

/// Converts an error to the exception of its kind, with the attributes `kind`, `operation`, `retry`
/// (`never`, `safe` or `after_refresh`) and `facts`. The text names the causes, as the library
/// reports them: without secrets and without content.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    let raised = match error.kind() {
        ErrorKind::NotFound => NotFound::new_err(text),
        ErrorKind::Conflict => Conflict::new_err(text),
        ErrorKind::Invalid => Invalid::new_err(text),
        ErrorKind::Corrupt => Corrupt::new_err(text),
        ErrorKind::Unsupported => Unsupported::new_err(text),
        ErrorKind::Unavailable => Unavailable::new_err(text),
        ErrorKind::Timeout => Timeout::new_err(text),
        ErrorKind::Cancelled => Cancelled::new_err(text),
        ErrorKind::Bug => Bug::new_err(text),
        _ => ContextError::new_err(text),
    };
    let retry = match error.retry() {
        Retry::Safe => "safe",
        Retry::AfterRefresh => "after_refresh",
        _ => "never",
    };
    let facts: std::collections::HashMap<_, _> = error.context().collect();
    let value = raised.value(py);
    let set = value
        .setattr("kind", error.kind().as_str())
        .and_then(|()| value.setattr("operation", error.operation()))
        .and_then(|()| value.setattr("retry", retry))
        .and_then(|()| value.setattr("facts", facts));
    match set {
        Ok(()) => raised,
        Err(failed) => failed,
    }
}
