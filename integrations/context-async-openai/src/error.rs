//! Errors of a conversion.

use context_runtime::model::WireError;

/// The reason why messages could not be converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// async-openai has no type for the JSON, or its value cannot be written as JSON.
    #[error("the message has no form in async-openai")]
    Json(#[from] serde_json::Error),
    /// The JSON is not what the API takes.
    #[error("the messages cannot be read")]
    Wire(#[from] WireError),
}
