//! `mcp`: the tools of the Model Context Protocol on standard input and output.

use std::sync::Arc;

use context_server::{McpServer, Operations};

use crate::app::{App, Outcome};
use crate::error::Failure;

const EXAMPLES: &str = "\
Example, in the configuration of most clients, which start it themselves:

  {\"mcpServers\": {\"context\": {\"command\": \"context\",
    \"args\": [\"--store\", \"sqlite:/path/to/context.db\", \"mcp\"]}}}

The agent then searches and reads earlier conversations, keeps memories, forks chats, sees what
fills a window and compacts it. Tools: list_chats, search_history, read_messages, recall, remember,
forget, fork, context_status, compact. Chats are resources as well. `context import` and `context
watch` bring the conversations of other programs in.

It speaks JSON-RPC and ends when the client closes standard input. `context serve` has the same
tools over HTTP, at /mcp.";

/// Give agents tools to search, read and change chats.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Refuse all changes
    #[arg(long)]
    read_only: bool,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        app.out.note(
            "waiting for a client on standard input; `context mcp --help` says how to set one up",
        );
    }
    let store = match args.read_only {
        true => app.store_to_read().await?,
        false => app.store_or_told_new().await?,
    };
    let operations = Operations::new(store)
        .user(app.user.clone())
        .read_only(args.read_only)
        .environment(Arc::new(app.host.clone()), Arc::new(app.host.clone()));
    McpServer::new(operations).serve_stdio().await.map_err(Failure::Runtime)?;
    Ok(Outcome::Success)
}
