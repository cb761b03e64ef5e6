//! Trajectories: recorded rounds, and their exports.

use std::io;
use std::sync::Arc;

use context_runtime::store::{Cursor, RoundQuery, TrajectoryStore};
use context_runtime::trajectory::export::{
    AtifOptions, DiagramOptions, write_atif, write_chrome_trace, write_dot, write_mermaid,
    write_prov_json,
};
use context_runtime::trajectory::{AgentRef, SessionGraph, Trajectories};
use context_runtime::{Error, ErrorKind, Result};

use crate::json::Reply;
use crate::store::{Listing, StoreOperations, missing};

/// The formats of an export.
const FORMATS: [&str; 6] = ["rounds", "mermaid", "dot", "prov", "atif", "chrome"];

/// Refuses an unknown format.
fn check(format: &str) -> Result<()> {
    if FORMATS.contains(&format) {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Unsupported, "trajectory", "no format of this name");
    Err(error.with("format", format).with("known", FORMATS.join(", ")))
}

impl StoreOperations {
    fn rounds_of(&self) -> Result<&dyn TrajectoryStore> {
        self.backend.trajectories().ok_or_else(|| missing(&*self.backend, "trajectories"))
    }

    pub(crate) async fn rounds(
        &self,
        user: String,
        session: Option<String>,
        limit: usize,
        after: Option<String>,
    ) -> Result<Reply> {
        let mut query = RoundQuery::of_user(user).limit(limit).after(after.map(Cursor::new));
        query.session = session.map(Into::into);
        Reply::json(&Listing::from(self.rounds_of()?.rounds(&query).await?))
    }

    pub(crate) async fn trajectory(
        &self,
        user: String,
        session: String,
        format: String,
    ) -> Result<Reply> {
        if format == "rounds" {
            let main = AgentRef::main(user, session);
            let rounds = self.rounds_of()?.load_rounds(&main, 0..=u32::MAX).await?;
            return Reply::json(&rounds);
        }
        check(&format)?;
        self.rounds_of()?;
        let graph = Trajectories::new(Arc::clone(&self.backend))?.graph(user, session).await?;
        let text = drawn(&graph, &format)?;
        match format.as_str() {
            "mermaid" | "dot" => Reply::json(&text),
            _ => Ok(Reply::Json(text)),
        }
    }
}

/// Writes a graph in a format.
fn drawn(graph: &SessionGraph, format: &str) -> Result<String> {
    const OPERATION: &str = "trajectory";
    let mut out = Vec::new();
    let written: io::Result<()> = match format {
        "mermaid" => write_mermaid(graph, &DiagramOptions::default(), &mut out),
        "dot" => write_dot(graph, &DiagramOptions::default(), &mut out),
        "prov" => write_prov_json(graph, &mut out),
        "atif" => {
            let options = AtifOptions::new("context-layer", env!("CARGO_PKG_VERSION"));
            write_atif(graph, &options, &mut out).map_err(io::Error::other)
        }
        "chrome" => write_chrome_trace(graph, &mut out),
        _ => return check(format).map(|()| String::new()),
    };
    let failed = |error: String| Error::new(ErrorKind::Bug, OPERATION, error);
    written.map_err(|error| failed(error.to_string()))?;
    String::from_utf8(out).map_err(|error| failed(error.to_string()))
}
