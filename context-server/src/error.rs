//! Errors of operations, and their form as problem details (RFC 9457).

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use context_runtime::ErrorKind;
use serde::Serialize;
use utoipa::ToSchema;

/// An error of an operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperationError {
    /// A store refused or failed.
    #[error(transparent)]
    Store(#[from] context_runtime::Error),
    /// A value of the request is not valid.
    #[error("{name}: {problem}")]
    Invalid {
        /// The parameter.
        name: &'static str,
        /// The problem with its value.
        problem: std::borrow::Cow<'static, str>,
    },
    /// The inspector was opened read-only.
    #[error("this inspector is read-only: nothing can be changed")]
    ReadOnly,
    /// The store lacks an ability that the operation needs.
    #[error("this store has no {ability}")]
    Missing {
        /// The ability.
        ability: &'static str,
    },
    /// A trajectory could not be written.
    #[error("the trajectory could not be written")]
    Unwritten(#[source] std::io::Error),
    /// The work of a request ended with a panic. A fault of this program.
    #[error("the request could not be worked on: {0}")]
    Failed(#[from] tokio::task::JoinError),
}

impl OperationError {
    /// Creates the error of an invalid value.
    pub(crate) fn invalid(
        name: &'static str,
        problem: impl Into<std::borrow::Cow<'static, str>>,
    ) -> Self {
        Self::Invalid { name, problem: problem.into() }
    }

    /// Returns the status of the HTTP answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Store(error) => match error.kind() {
                ErrorKind::NotFound => StatusCode::NOT_FOUND,
                ErrorKind::Conflict => StatusCode::CONFLICT,
                ErrorKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
                ErrorKind::Unsupported => StatusCode::NOT_IMPLEMENTED,
                ErrorKind::Unavailable | ErrorKind::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
                ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Self::ReadOnly => StatusCode::FORBIDDEN,
            Self::Missing { .. } => StatusCode::NOT_IMPLEMENTED,
            Self::Failed(_) | Self::Unwritten(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns the problem as an object.
    pub(crate) fn problem(&self) -> Problem {
        let mut detail = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            // Some errors repeat their cause.
            if !detail.contains(&cause_text) {
                detail.push_str(": ");
                detail.push_str(&cause_text);
            }
            source = cause.source();
        }
        Problem::new(self.status(), detail)
    }
}

impl From<context_runtime::TurnError> for OperationError {
    fn from(error: context_runtime::TurnError) -> Self {
        Self::Store(error.into())
    }
}

/// Problem details of an answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The kind of the problem, for people.
    title: &'static str,
    /// The status of the answer.
    status: u16,
    /// One sentence about this problem.
    pub(crate) detail: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: String) -> Self {
        let title = status.canonical_reason().unwrap_or("Error");
        Self { title, status: status.as_u16(), detail }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        (status, kind, Json(self)).into_response()
    }
}

impl IntoResponse for OperationError {
    fn into_response(self) -> Response {
        let mut response = self.problem().into_response();
        if self.status() == StatusCode::SERVICE_UNAVAILABLE {
            let soon = HeaderValue::from_static("1");
            response.headers_mut().insert(header::RETRY_AFTER, soon);
        }
        response
    }
}
