//! Values on their way between Python and Rust.
//!
//! They cross as JSON text, through Python's own `json` module: integers keep all their digits,
//! floats come back as they were, and the order of keys stays.

use context_runtime::{Error, Json, Result};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyString};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bridge::Face;

/// A value that Python passed: anything that `json.dumps` accepts.
pub(crate) struct JsonArgument(Json);

impl JsonArgument {
    /// Reads the value as `T`, or says what is wrong with it.
    pub(crate) fn parse<T: DeserializeOwned>(&self, operation: &'static str) -> Result<T> {
        self.0.parse().map_err(|error| Error::invalid(operation, error.to_string()))
    }

    /// The value as JSON.
    pub(crate) fn into_json(self) -> Json {
        self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for JsonArgument {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        static DUMPS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = value.py();
        let options = PyDict::new(py);
        options.set_item("ensure_ascii", false)?;
        options.set_item("allow_nan", false)?;
        options.set_item("separators", (",", ":"))?;
        let text = DUMPS.import(py, "json", "dumps")?.call((value,), Some(&options))?;
        let text = text.cast::<PyString>()?.to_str()?;
        // Python writes keys and numbers that JSON allows; the parser has the last word.
        Json::from_text(text)
            .map(Self)
            .map_err(|error| crate::error::Invalid::new_err(error.to_string()))
    }
}

/// Makes a Python object of a face.
type Make = Box<dyn FnOnce(Python<'_>, Face) -> PyResult<Py<PyAny>> + Send>;

/// The result of an operation, until it is a Python object.
pub(crate) enum Reply {
    /// JSON text.
    Json(String),
    /// Bytes, or `None`.
    Bytes(Option<Vec<u8>>),
    /// An object with two faces.
    Object(Make),
}

impl Reply {
    /// A reply without content: `None`.
    pub(crate) fn none() -> Self {
        Self::Json("null".to_owned())
    }

    /// A reply in the JSON form of a value.
    pub(crate) fn json(value: &(impl Serialize + ?Sized)) -> Result<Self> {
        serde_json::to_string(value).map(Self::Json).map_err(|error| {
            Error::new(context_runtime::ErrorKind::Bug, "reply", error.to_string())
        })
    }

    /// Makes the Python object.
    pub(crate) fn into_python(self, py: Python<'_>, face: Face) -> PyResult<Py<PyAny>> {
        static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        match self {
            Self::Json(text) if text == "null" => Ok(py.None()),
            Self::Json(text) => Ok(LOADS.import(py, "json", "loads")?.call1((text,))?.unbind()),
            Self::Bytes(Some(bytes)) => Ok(PyBytes::new(py, &bytes).into_any().unbind()),
            Self::Bytes(None) => Ok(py.None()),
            Self::Object(make) => make(py, face),
        }
    }
}
