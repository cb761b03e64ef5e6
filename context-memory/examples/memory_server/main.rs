//! A memory server for this machine: memories that other programs capture are recalled over HTTP.
//!
//! ```text
//! MEMORY_KEY=key-of-this-agent cargo run -p context-layer-memory --features remote --example memory_server -- 7171
//! curl -H 'authorization: Bearer key-of-this-agent' http://127.0.0.1:7171/v1/info
//! ```
//!
//! The server listens on loopback only and keeps everything in memory. To serve a network, use
//! another store and a TLS proxy.

mod serve;

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use context_core::Store;
use context_memory::episodic;
use context_memory::remote::{KeyFor, MemoryService};
use context_store_inmem::InMemoryStore;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::args().nth(1).map_or(Ok(7171), |port| port.parse::<u16>())?;
    let key = std::env::var("MEMORY_KEY")
        .map_err(|_| "MEMORY_KEY must hold the key that clients send")?;
    let store: Arc<dyn Store> = Arc::new(InMemoryStore::default());
    let provider = Arc::new(episodic(&store)?);
    let service = MemoryService::new(provider, "example").key(&key, KeyFor::AllUsers);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    writeln!(std::io::stdout(), "listening on http://{}", listener.local_addr()?)?;
    serve::serve(listener, Arc::new(service)).await;
    Ok(())
}
