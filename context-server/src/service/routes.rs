//! The addresses, and the checks around them.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::StatusCode;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use tower_http::timeout::{RequestBodyTimeoutLayer, TimeoutLayer};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::guard::{Caller, Guard, guard};
use super::input::refusal;
use super::{Service, chats, events, memory, messages, streams, trajectories, turns, upkeep};
use crate::mcp::answer_over_http;
use crate::service::description::{Description, complete};

/// Returns the routes with their description.
fn described() -> OpenApiRouter<Guard> {
    let v1 = OpenApiRouter::new()
        .routes(routes!(chats::list))
        .routes(routes!(chats::get, chats::put, chats::delete))
        .routes(routes!(chats::act))
        .routes(routes!(events::chat))
        .routes(routes!(messages::page, messages::append))
        .routes(routes!(messages::get))
        .routes(routes!(turns::begin))
        .routes(routes!(turns::prepare))
        .routes(routes!(turns::step, turns::cancel))
        .routes(routes!(streams::get, streams::write))
        .routes(routes!(streams::cancel))
        .routes(routes!(streams::follow))
        .routes(routes!(trajectories::rounds))
        .routes(routes!(trajectories::export))
        .routes(routes!(chats::search))
        .routes(routes!(memory::list, memory::remember))
        .routes(routes!(memory::recall))
        .routes(routes!(memory::forget))
        .routes(routes!(upkeep::erase))
        .routes(routes!(upkeep::check))
        .routes(routes!(upkeep::vacuum));
    OpenApiRouter::with_openapi(Description::openapi())
        .nest("/v1", v1)
        .routes(routes!(upkeep::metrics))
}

pub(super) fn description() -> String {
    let (_, mut description) = described().split_for_parts();
    complete(&mut description);
    // The description is plain data, which has a JSON form.
    description.to_pretty_json().unwrap_or_default()
}

pub(super) fn router(service: &Service) -> Router {
    let state = Guard::new(service);
    let limits = service.limits;
    let (guarded, _) = described().split_for_parts();
    let guarded = guarded
        .route("/mcp", any(mcp))
        .layer(DefaultBodyLimit::max(limits.body))
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, limits.answer))
        .layer(RequestBodyTimeoutLayer::new(limits.slowness))
        .layer(middleware::from_fn_with_state(state.clone(), guard))
        .with_state(state);
    let text = description();
    let json = [(axum::http::header::CONTENT_TYPE, "application/json")];
    let describe = move || {
        let answer = (json, text.clone());
        async move { answer }
    };
    guarded
        .route("/openapi.json", get(describe))
        .route("/healthz", get(async || "ok"))
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
}

/// The tools of the Model Context Protocol.
async fn mcp(caller: Caller, request: Request) -> Response {
    answer_over_http(caller.operations, request).await
}

async fn no_such_path() -> Response {
    let text = "there is nothing at this path; /openapi.json lists all paths";
    refusal(StatusCode::NOT_FOUND, text.to_owned()).into_response()
}

async fn no_such_method() -> Response {
    let text = "this path has other methods; /openapi.json lists them";
    refusal(StatusCode::METHOD_NOT_ALLOWED, text.to_owned()).into_response()
}
