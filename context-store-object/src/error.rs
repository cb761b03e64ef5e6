//! Errors of a service as errors of a store, in one function.

use std::error::Error as _;
use std::fmt;

use context_core::{Error, ErrorKind, Retry};
use object_store::Error as Native;

/// The cause that a service gave, without the query of any URL in it: it may hold a signature.
#[derive(thiserror::Error)]
#[error("{0}")]
struct ServiceError(String);

impl fmt::Debug for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Converts an error of a service.
pub(crate) fn failed(operation: &'static str) -> impl Fn(Native) -> Error {
    move |error| {
        use ErrorKind::{Bug, Conflict, Unavailable, Unsupported};
        let (kind, retry, message) = match &error {
            Native::NotFound { .. } => {
                (Unavailable, Retry::Never, "the bucket or folder is not there")
            }
            Native::AlreadyExists { .. } | Native::Precondition { .. } => {
                (Conflict, Retry::Safe, "another writer was faster")
            }
            Native::NotSupported { .. } | Native::NotImplemented { .. } => {
                (Unsupported, Retry::Never, "the service lacks an operation")
            }
            Native::PermissionDenied { .. } | Native::Unauthenticated { .. } => {
                (Unavailable, Retry::Never, "the service refuses these credentials")
            }
            Native::UnknownConfigurationKey { .. } | Native::InvalidPath { .. } => {
                (Bug, Retry::Never, "the service cannot be asked like this")
            }
            _ => (Unavailable, Retry::Safe, "the service cannot be used"),
        };
        let kind = if timed_out(&error) { ErrorKind::Timeout } else { kind };
        Error::new(kind, operation, message).with_retry(retry).with_source(cause(&error))
    }
}

/// Converts an error about settings, from a URL or the environment.
#[cfg(feature = "http")]
pub(crate) fn misconfigured(operation: &'static str) -> impl Fn(Native) -> Error {
    move |error| {
        Error::invalid(operation, "these settings of the service do not fit")
            .with_source(cause(&error))
    }
}

/// Returns the text of an error and of its causes, without queries.
fn cause(error: &Native) -> ServiceError {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    ServiceError(without_queries(&text))
}

/// Whether a time limit of the client is among the causes.
fn timed_out(error: &Native) -> bool {
    let mut next: Option<&(dyn std::error::Error + 'static)> = error.source();
    while let Some(cause) = next {
        if cause.to_string().contains("timed out") {
            return true;
        }
        next = cause.source();
    }
    false
}

/// Removes what follows a question mark, up to the end of the word.
fn without_queries(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ')' | '>' | '<');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, query)) = rest.split_once('?') {
        out.push_str(before);
        rest = query.find(ends).map_or("", |end| &query[end..]);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_in_a_query_is_not_repeated() {
        let text = "PUT http://host/box/key?sig=s3cret&x=1 failed (http://host?token=t): why?";
        assert_eq!(without_queries(text), "PUT http://host/box/key failed (http://host): why");
        let native = Native::Generic { store: "S3", source: text.into() };
        let error = failed("put_blob")(native);
        assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, Retry::Safe));
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
    }

    #[test]
    fn refused_credentials_are_not_tried_again() {
        let native = Native::PermissionDenied { path: "a".to_owned(), source: "no".into() };
        assert_eq!(failed("blob")(native).retry(), Retry::Never);
    }
}
