//! The OpenAPI description, apart from what the handlers say of themselves.

use axum::http::StatusCode;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{OpenApi as Document, PathItem, RefOr, Schema};
use utoipa::{Modify, OpenApi};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "context",
        description = "The context layer for LLM agents: chats with branches, turns, search, \
            answer streams, memories, trajectories.\n\n\
            A turn is made step by step. `POST /v1/chats/{chat}/turns` stores a question and returns \
            the request for the model. The program sends it and posts the reply; the answer to that \
            names tools to run, the next request, or the answer. No step depends on which process \
            made the step before.\n\n\
            Every write may be repeated after a lost reply: messages by `Idempotency-Key` or by their \
            ids, turns by their id, chunks by their offset. Errors are problem details (RFC 9457).",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "chats", description = "Chats, their branches and checkpoints, and search"),
        (name = "messages", description = "Messages of a branch"),
        (name = "turns", description = "A question until its answer"),
        (name = "streams", description = "Answers in flight"),
        (name = "memory", description = "What is remembered of a user"),
        (name = "trajectories", description = "What happened in a run"),
        (name = "upkeep", description = "The store itself"),
    ),
    modifiers(&Token),
    security(("token" = [])),
)]
pub(super) struct Description;

struct Token;

impl Modify for Token {
    fn modify(&self, openapi: &mut Document) {
        let components = openapi.components.get_or_insert_default();
        let mut token = Http::new(HttpAuthScheme::Bearer);
        token.description = Some("A token of the service's users, if it has any".to_owned());
        components.add_security_scheme("token", SecurityScheme::Http(token));
    }
}

/// Adds what generators of clients require and the handlers leave out: every answer is described,
/// and a parameter is absent or a value, but never null.
pub(super) fn complete(description: &mut Document) {
    for operation in description.paths.paths.values_mut().flat_map(operations) {
        for (status, response) in &mut operation.responses.responses {
            if let RefOr::T(response) = response
                && response.description.is_empty()
            {
                response.description = about(status).to_owned();
            }
        }
        for parameter in operation.parameters.iter_mut().flatten() {
            let RefOr::T(parameter) = parameter else { continue };
            let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema else { continue };
            if let SchemaType::Array(types) = &mut schema.schema_type {
                types.retain(|kind| *kind != Type::Null);
                if let [one] = types.as_slice() {
                    schema.schema_type = SchemaType::Type(one.clone());
                }
            }
        }
    }
}

fn operations(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, .. } = path;
    [get, put, post, delete].into_iter().flatten()
}

/// Returns the words for the answers with a status.
fn about(status: &str) -> &'static str {
    let code = status.parse().ok().and_then(|status: StatusCode| status.canonical_reason());
    code.unwrap_or("A problem")
}
