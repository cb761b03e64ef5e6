//! Standard input and output, as a client starts the server.

use std::io;

use rmcp::ServiceExt;
use rmcp::transport::stdio;

use super::McpServer;

impl McpServer {
    /// Serves the client that started this process, on standard input and output, until it closes
    /// them.
    pub async fn serve_stdio(self) -> io::Result<()> {
        let running = self.serve(stdio()).await.map_err(io::Error::other)?;
        running.waiting().await.map_err(io::Error::other)?;
        Ok(())
    }
}
