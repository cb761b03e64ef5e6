//! Wire forms of providers, there and back.

use context_runtime::model::ModelRequest;
use context_runtime::{
    Diagnostic, Error, Json, Message, Metadata, PROVIDERS, Result, message_codec,
};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::bridge::Face;
use crate::error::exception;
use crate::json::{JsonArgument, Reply};
use crate::message_form::GivenMessage;

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PROVIDERS", PROVIDERS.to_vec())?;
    module.add_function(wrap_pyfunction!(decode, module)?)?;
    module.add_function(wrap_pyfunction!(encode, module)?)
}

#[derive(Serialize)]
struct Decoded<'a> {
    model: Option<&'a str>,
    system: Vec<&'a str>,
    messages: Vec<&'a Message>,
    metadata: &'a Metadata,
    diagnostics: Vec<Diagnostic>,
}

#[derive(Serialize)]
struct Encoded {
    body: Json,
    headers: Vec<(&'static str, &'static str)>,
    diagnostics: Vec<Diagnostic>,
}

/// The input of `encode`: messages alone, or all that `decode` returned.
#[derive(Deserialize)]
struct Given {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    system: Vec<String>,
    messages: Vec<GivenMessage>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

/// Decodes a request body of a provider: its model, its system texts and its messages.
#[pyfunction]
fn decode(py: Python<'_>, provider: &str, body: JsonArgument) -> PyResult<Py<PyAny>> {
    let reply = py.detach(|| lifted(provider, &body.into_json()));
    reply.map_err(|error| exception(py, &error))?.into_python(py, Face::Blocking)
}

/// Encodes messages as a request body of a provider: repaired for sending, or as their source had
/// them.
#[pyfunction]
#[pyo3(signature = (provider, messages, *, source=false))]
fn encode(
    py: Python<'_>,
    provider: &str,
    messages: JsonArgument,
    source: bool,
) -> PyResult<Py<PyAny>> {
    let reply = py.detach(|| lowered(provider, &messages, source));
    reply.map_err(|error| exception(py, &error))?.into_python(py, Face::Blocking)
}

fn lifted(provider: &str, body: &Json) -> Result<Reply> {
    let lifted = message_codec(provider)?.lift(body).map_err(refused)?;
    let request = &lifted.request;
    Reply::json(&Decoded {
        model: request.model.as_deref(),
        system: request.system.iter().map(|text| text.text.as_str()).collect(),
        messages: request.messages.iter().map(|message| &**message).collect(),
        metadata: &request.metadata,
        diagnostics: lifted.diagnostics,
    })
}

fn lowered(provider: &str, given: &JsonArgument, source: bool) -> Result<Reply> {
    let codec = message_codec(provider)?;
    let given: Given = given.parse("encode")?;
    let mut request = ModelRequest::new(given.messages.into_iter().map(GivenMessage::into_message));
    request.metadata = given.metadata.unwrap_or_default();
    request.model = given.model;
    for text in given.system {
        request = request.system(text);
    }
    let lowered = match source {
        true => codec.lower_source(&request),
        false => codec.lower(&request).map_err(refused)?,
    };
    Reply::json(&Encoded {
        body: lowered.body,
        headers: lowered.headers,
        diagnostics: lowered.diagnostics,
    })
}

fn refused(error: impl std::error::Error) -> Error {
    Error::invalid("codec", error.to_string())
}
