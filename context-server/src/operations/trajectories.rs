//! Recorded rounds, and the session in the formats of other tools.

use context_runtime::store::{Cursor, RoundQuery};
use context_runtime::trajectory::export::otlp::{OtlpOptions, write_otlp_json};
use context_runtime::trajectory::export::{
    AtifOptions, DiagramOptions, write_atif, write_chrome_trace, write_dot, write_mermaid,
    write_prov_json,
};
use context_runtime::trajectory::{SessionGraph, Trajectories};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Operations;
use crate::OperationError;

/// The number of rounds in a page.
const PAGE: usize = 100;

/// The format of a trajectory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TrajectoryFormat {
    /// OpenTelemetry: OTLP as JSON.
    Otlp,
    /// W3C PROV-JSON.
    Prov,
    /// ATIF 1.7.
    Atif,
    /// Chrome trace events.
    Chrome,
    /// A Mermaid flow chart.
    Mermaid,
    /// A graph for Graphviz.
    Dot,
}

impl TrajectoryFormat {
    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Mermaid | Self::Dot => "text/plain; charset=utf-8",
            _ => "application/json",
        }
    }
}

/// A page of the rounds of a chat.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct RoundPage {
    /// The rounds, newest first.
    pub rounds: Vec<RoundLine>,
    /// The cursor of the next page. `None` on the last page.
    pub next: Option<String>,
}

/// A round: a question until its answer.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct RoundLine {
    /// The agent: 0 for the main one.
    pub agent: u32,
    /// The number of the round.
    pub round: u32,
    /// `open`, `closed` or `interrupted`.
    pub state: &'static str,
    /// The beginning of its question.
    pub title: String,
    /// The number of its nodes.
    pub nodes: u32,
}

impl Operations {
    /// Returns a page of the rounds of a chat, newest first, with those of sub-agents.
    pub async fn rounds(
        &self,
        chat: &str,
        after: Option<&str>,
    ) -> Result<RoundPage, OperationError> {
        let chat = self.checked(chat)?;
        let rounds = self.store.trajectories();
        let rounds = rounds.ok_or(OperationError::Missing { ability: "trajectories" })?;
        let mut query = RoundQuery::of_user(self.user.clone()).session(chat.chat.as_str());
        query.limit = PAGE;
        query.after = after.map(Cursor::new);
        let page = rounds.rounds(&query).await?;
        let line = |head: context_runtime::trajectory::RoundHead| RoundLine {
            agent: head.round.agent.agent,
            round: head.round.round,
            state: head.state.as_str(),
            title: head.title.to_string(),
            nodes: head.nodes,
        };
        Ok(RoundPage {
            rounds: page.items.into_iter().map(line).collect(),
            next: page.next.map(|next| next.as_str().to_owned()),
        })
    }

    /// Returns everything recorded of a chat, in a format of other tools.
    pub async fn trajectory(
        &self,
        chat: &str,
        format: TrajectoryFormat,
    ) -> Result<Vec<u8>, OperationError> {
        let chat = self.checked(chat)?;
        let trajectories = Trajectories::new(std::sync::Arc::clone(&self.store))
            .map_err(context_runtime::Error::from)?;
        let graph = trajectories.graph(self.user.clone(), chat.chat.as_str()).await;
        let graph = graph.map_err(context_runtime::Error::from)?;
        let write = move || write(&graph, format);
        tokio::task::spawn_blocking(write).await?.map_err(OperationError::Unwritten)
    }
}

fn write(graph: &SessionGraph, format: TrajectoryFormat) -> Result<Vec<u8>, std::io::Error> {
    let mut out = Vec::new();
    let diagram = DiagramOptions::default();
    match format {
        TrajectoryFormat::Otlp => write_otlp_json(graph, &OtlpOptions::default(), &mut out)?,
        TrajectoryFormat::Prov => write_prov_json(graph, &mut out)?,
        TrajectoryFormat::Atif => {
            write_atif(graph, &AtifOptions::new("context", env!("CARGO_PKG_VERSION")), &mut out)?
        }
        TrajectoryFormat::Chrome => write_chrome_trace(graph, &mut out)?,
        TrajectoryFormat::Mermaid => write_mermaid(graph, &diagram, &mut out)?,
        TrajectoryFormat::Dot => write_dot(graph, &diagram, &mut out)?,
    }
    Ok(out)
}
