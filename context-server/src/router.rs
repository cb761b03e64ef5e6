//! The addresses.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post};

use crate::access::{Access, guard};
use crate::{Operations, api, assets, pages};

/// The largest body of a request in bytes.
const LARGEST_BODY: usize = 4 * 1024 * 1024;

/// Returns the pages and the HTTP API of the inspector, for requests of this machine: those that
/// name another host are refused, as are changes from pages of other sites. See [`router_with`] for
/// other rules.
///
/// Mount it with [`Router::nest`], beside a running agent; pages then show its chats as they grow.
pub fn router(operations: impl Into<Operations>) -> Router {
    router_with(operations, Access::loopback())
}

/// Returns the pages and the HTTP API of the inspector, with these rules of access.
pub fn router_with(operations: impl Into<Operations>, access: Access) -> Router {
    let api = Router::new()
        .route("/chats", get(api::chats))
        .route("/search", get(api::search))
        .route("/chats/{chat}", get(api::chat))
        .route("/chats/{chat}/facts", get(api::facts))
        .route("/chats/{chat}/messages", get(api::messages))
        .route("/chats/{chat}/messages/{message}", get(api::message))
        .route("/chats/{chat}/outline", get(api::outline))
        .route("/chats/{chat}/failures", get(api::failures))
        .route("/chats/{chat}/tree", get(api::tree))
        .route("/chats/{chat}/branches/difference", get(api::branch_difference))
        .route("/chats/{chat}/answering", get(api::answering))
        .route("/chats/{chat}/sent", get(api::sent))
        .route("/chats/{chat}/sent/body", get(api::sent_body))
        .route("/chats/{chat}/sent/difference", get(api::sent_difference))
        .route("/memory", get(api::memory::remembered))
        .route("/memory/recall", get(api::memory::recall))
        .route("/memory/forget", post(api::memory::forget))
        .route("/chats/{chat}/prompt", get(api::memory::prompt))
        .route("/chats/{chat}/run", get(api::run::run))
        .route("/chats/{chat}/run/lines", get(api::run::lines))
        .route("/chats/{chat}/run/failure", get(api::run::failure))
        .route("/chats/{chat}/run/step", get(api::run::step))
        .route("/chats/{chat}/run/graph", get(api::run::graph))
        .route("/chats/{chat}/run/provenance", get(api::run::provenance))
        .route("/chats/{chat}/actions", post(api::act))
        .route("/chats/{chat}/events", get(api::events));
    Router::new()
        .route("/", get(pages::chats))
        .route("/search", get(pages::search))
        .route("/chats/{chat}", get(pages::chat))
        .route("/chats/{chat}/rows", get(pages::rows))
        .route("/chats/{chat}/answering", get(pages::answering))
        .route("/chats/{chat}/branches", get(pages::branches))
        .route("/chats/{chat}/branches/compare", get(pages::branch_difference))
        .route("/chats/{chat}/sent", get(pages::sent))
        .route("/chats/{chat}/sent/body", get(pages::shown_body))
        .route("/chats/{chat}/sent/piece", get(pages::piece))
        .route("/chats/{chat}/compare", get(pages::compare))
        .route("/chats/{chat}/compare/bodies", get(pages::bodies))
        .route("/memory", get(pages::memory))
        .route("/chats/{chat}/prompt", get(pages::prompt))
        .route("/chats/{chat}/prompt/top", get(pages::prompt_on_top))
        .route("/chats/{chat}/run", get(pages::run))
        .route("/chats/{chat}/run/step", get(pages::step))
        .route("/assets/{name}", get(assets::asset))
        .nest("/api/v1", api)
        .fallback(pages::not_found)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(middleware::from_fn_with_state(access, guard))
        .with_state(operations.into())
}
