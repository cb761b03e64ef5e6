//! Conversion of HTTP errors to model errors.

use std::error::Error;

use context_core::ModelError;
use context_core::model::{ModelCodec, ModelErrorCode as Code};
use context_http::{Client, HttpError};

/// Converts an HTTP error to a model error. `classify` reads the body of a refusal. The result
/// shows no secret of the client.
pub(crate) fn of(
    error: &HttpError,
    client: &Client,
    provider: &str,
    classify: impl Fn(Option<u16>, &str) -> ModelError,
) -> ModelError {
    let plain = |code| ModelError::new(provider, code, error.to_string());
    let mut found = match error {
        HttpError::Refused(refused) => {
            let mut found = classify(Some(refused.status), &refused.body);
            found.retry_after = found.retry_after.or(refused.retry_after);
            found
        }
        HttpError::Unreachable { .. } | HttpError::Broken { .. } => {
            ModelError::new(provider, Code::Network, causes(error))
        }
        // A certificate that is not trusted now is not trusted later either.
        HttpError::Untrusted { .. } => {
            let mut found = ModelError::new(provider, Code::Network, causes(error));
            found.retryable = false;
            found
        }
        HttpError::Timeout { .. } => plain(Code::Timeout),
        // A service that redirects now does so later too.
        HttpError::Redirected { status, .. } => {
            let mut found = plain(Code::Network);
            (found.status, found.retryable) = (Some(*status), false);
            found
        }
        HttpError::TooLong { .. }
        | HttpError::Compressed { .. }
        | HttpError::NotJson { .. }
        | HttpError::Cancelled => plain(Code::Unknown),
        _ => plain(Code::InvalidRequest),
    };
    redact(&mut found, client);
    found
}

/// Converts an HTTP error, with the refusal read by a codec.
pub(crate) fn of_model(error: &HttpError, client: &Client, codec: &dyn ModelCodec) -> ModelError {
    of(error, client, codec.name(), |status, body| codec.lift_error(status, body))
}

/// Removes the client's secrets from the service's message.
pub(crate) fn redact(error: &mut ModelError, client: &Client) {
    error.message = client.redact(&error.message);
    error.provider_code = error.provider_code.take().map(|code| client.redact(&code));
}

/// Returns an error and its causes as one text.
fn causes(error: &HttpError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
