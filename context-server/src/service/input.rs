//! Bodies, queries and paths of requests, whose faults are answered as problem details.

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use super::guard::Caller;
use crate::error::Problem;
use crate::{OperationError, Operations};

/// A JSON body.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let read = axum::Json::<T>::from_request(request, state).await;
        read.map(|axum::Json(body)| Self(body))
            .map_err(|rejection: JsonRejection| refusal(rejection.status(), rejection.body_text()))
    }
}

/// The query of an address.
pub(super) struct Asked<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        read.map(|Query(asked)| Self(asked)).map_err(|rejection: QueryRejection| {
            refusal(StatusCode::UNPROCESSABLE_ENTITY, rejection.body_text())
        })
    }
}

/// The operations of the caller, which the guard has found.
impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            refusal(StatusCode::UNAUTHORIZED, "the request has no caller".to_owned())
        })
    }
}

impl std::ops::Deref for Caller {
    type Target = Operations;

    fn deref(&self) -> &Operations {
        &self.operations
    }
}

/// Returns the answer to a request that cannot be understood.
pub(super) fn refusal(status: StatusCode, detail: String) -> Response {
    Problem::new(status, detail).into_response()
}

/// Returns the value of a header that is text. `None` if it is absent.
pub(super) fn header<'h>(
    headers: &'h HeaderMap,
    name: &'static str,
) -> Result<Option<&'h str>, OperationError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(OperationError::invalid(name, "the header is given twice"));
    }
    let text = value.to_str();
    Ok(Some(text.map_err(|_| OperationError::invalid(name, "the header is no text"))?))
}
