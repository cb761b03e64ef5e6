//! The tools of the Model Context Protocol: other agents search, read and change chats.

mod answer;
mod arguments;
mod read;
mod resources;
mod stdio;
mod tools;
mod web;

use std::sync::LazyLock;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::{
    CacheScope, CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, Reference,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, tool_handler};

pub(crate) use self::web::answer as answer_over_http;
use crate::Operations;

const INSTRUCTIONS: &str = "\
Earlier conversations of this user, with branches, and memories. Begin with `search_history` or \
`list_chats`; `read_messages` reads any part of a chat, also what was compacted away. Answers are \
bounded and say how to go on. `remember` keeps a fact for later conversations, `recall` finds it.";

/// A server of the Model Context Protocol over the chats of one user.
///
/// Tools: `list_chats`, `search_history`, `read_messages`, `recall`, `remember`, `forget`, `fork`,
/// `context_status`, `compact`. Resources: the chats and their recorded rounds.
#[derive(Clone)]
pub struct McpServer {
    operations: Operations,
}

/// The tools are the same for everybody, and a server is made for each request.
static TOOLS: LazyLock<ToolRouter<McpServer>> = LazyLock::new(McpServer::tools);

impl McpServer {
    /// Creates the server over the operations of a user.
    pub fn new(operations: impl Into<Operations>) -> Self {
        Self { operations: operations.into() }
    }
}

impl std::fmt::Debug for McpServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpServer").field("user", self.operations.owner()).finish_non_exhaustive()
    }
}

#[tool_handler(router = TOOLS)]
impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_completions()
            .build();
        let implementation = Implementation::new("context", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = TOOLS.list_all();
        tools.retain(|tool| self.offers(tool));
        let listed = ListToolsResult::with_all_items(tools);
        // Revisions from this one on have a list say how long it may be kept.
        let version = context.protocol_version();
        Ok(match version.is_some_and(|it| it >= ProtocolVersion::V_2026_07_28) {
            true => listed.with_ttl_ms(0).with_cache_scope(CacheScope::Public),
            false => listed,
        })
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let after = request.and_then(|request| request.cursor);
        resources::list(&self.operations, after.as_deref()).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values = match &request.r#ref {
            Reference::Resource(_) if request.argument.name == "chat" => {
                resources::complete(&self.operations, &request.argument.value).await?
            }
            _ => Vec::new(),
        };
        let info = CompletionInfo::new(values);
        Ok(CompleteResult::new(info.map_err(|error| ErrorData::internal_error(error, None))?))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(resources::read(&self.operations, &request.uri).await?.into())
    }
}
