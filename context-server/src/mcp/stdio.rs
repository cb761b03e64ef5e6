//! Standard input and output, as a client starts the server.

use std::io;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio;

use super::McpServer;

impl McpServer {
    /// Serves the client that started this process, on standard input and output, until it closes
    /// them.
    pub async fn serve_stdio(self) -> io::Result<()> {
        let running = match self.serve(stdio()).await {
            Ok(running) => running,
            // A client that closes before it said anything wanted nothing.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        running.waiting().await.map_err(io::Error::other)?;
        Ok(())
    }
}
