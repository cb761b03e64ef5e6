//! The same tools over HTTP, at `/mcp`.

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tower::ServiceExt;

use super::McpServer;
use crate::Operations;

/// Answers a request of the streamable HTTP transport, as the user of the operations. No session is
/// kept, so any process may answer the next one.
pub(crate) async fn answer(operations: Operations, request: Request) -> Response {
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = false;
    config.json_response = true;
    // The service has checked who asks, and from where.
    config.allowed_hosts.clear();
    let server = McpServer::new(operations);
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        NeverSessionManager::default().into(),
        config,
    );
    match service.oneshot(request).await {
        Ok(answer) => answer.into_response(),
        Err(never) => match never {},
    }
}
