//! What goes wrong on the way, as errors of models.

use std::error::Error;

use context_core::ModelError;
use context_core::model::{ModelCodec, ModelErrorCode as Code};
use context_http::{Client, HttpError};

/// The error of a model that an error of HTTP is. What a service says is read by `classify`;
/// nothing in it shows a secret of the client.
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
        // Who is not trusted is not trusted later either.
        HttpError::Untrusted { .. } => {
            let mut found = ModelError::new(provider, Code::Network, causes(error));
            found.retryable = false;
            found
        }
        HttpError::Timeout { .. } => plain(Code::Timeout),
        // Whoever sends elsewhere does so later too.
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

/// The same, read by a codec.
pub(crate) fn of_model(error: &HttpError, client: &Client, codec: &dyn ModelCodec) -> ModelError {
    of(error, client, codec.name(), |status, body| codec.lift_error(status, body))
}

/// Takes the client's secrets out of what the service said.
pub(crate) fn redact(error: &mut ModelError, client: &Client) {
    error.message = client.redact(&error.message);
    error.provider_code = error.provider_code.take().map(|code| client.redact(&code));
}

/// An error and what it came of.
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
