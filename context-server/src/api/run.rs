//! The run of a chat as JSON.

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};

use super::{Answer, LARGEST_PAGE};
use crate::operations::{ProvenanceView, Run, RunGraph, RunLine, RunOrigin, StepDetail, StepId};
use crate::{OperationError, Operations, content};

/// The number of lines in an answer, unless the request names another.
const LINES: usize = 200;

/// The lines that are asked for.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Lines {
    version: Option<String>,
    #[serde(default)]
    from: usize,
    count: Option<usize>,
    #[serde(default)]
    back: bool,
}

/// The step that is selected, by its own name or by the message that it stands for.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Selected {
    pub(crate) view: Option<String>,
    pub(crate) node: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) branch: Option<String>,
}

impl Selected {
    /// Returns the step that is named.
    pub(crate) fn step(&self) -> Result<Option<StepId>, OperationError> {
        let named = self.node.as_deref().filter(|node| !node.is_empty());
        named.map(str::parse).transpose()
    }
}

/// A run without its lines.
#[derive(Debug, Serialize)]
pub(crate) struct RunAnswer {
    origin: RunOrigin,
    version: String,
    rounds: usize,
    agents: usize,
    lines: usize,
    /// The number of lines of each block.
    blocks: Vec<usize>,
}

impl RunAnswer {
    fn of(run: &Run) -> Self {
        Self {
            origin: run.origin,
            version: run.version.clone(),
            rounds: run.heads.len(),
            agents: run.agents(),
            lines: run.lines(),
            blocks: run.blocks().collect(),
        }
    }
}

/// Some lines of a run.
#[derive(Debug, Serialize)]
pub(crate) struct LinesAnswer {
    /// Other line numbers hold if this is not the version that was asked for.
    version: String,
    total: usize,
    lines: Vec<RunLine>,
}

pub(crate) async fn run(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
) -> Answer<RunAnswer> {
    Ok(Json(RunAnswer::of(&*operations.run(&chat, None).await?)))
}

pub(crate) async fn lines(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(asked): Query<Lines>,
) -> Answer<LinesAnswer> {
    let run = operations.run(&chat, asked.version.as_deref()).await?;
    let count = asked.count.unwrap_or(LINES).min(LARGEST_PAGE);
    let mut lines = run.lines_of(asked.from, count).await?;
    for line in &mut lines {
        if let Some(params) = &line.params {
            line.text = content::summary(params.as_str());
        }
    }
    Ok(Json(LinesAnswer { version: run.version.clone(), total: run.lines(), lines }))
}

/// The nearest line, from `from` on, with a failure.
pub(crate) async fn failure(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(asked): Query<Lines>,
) -> Answer<Option<usize>> {
    let run = operations.run(&chat, asked.version.as_deref()).await?;
    Ok(Json(run.next_failure(asked.from, asked.back).await?))
}

pub(crate) async fn step(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(selected): Query<Selected>,
) -> Answer<StepDetail> {
    let step = selected.step()?;
    let step = step.ok_or_else(|| OperationError::invalid("node", "a step has to be named"))?;
    Ok(Json(operations.run(&chat, None).await?.step(step).await?))
}

pub(crate) async fn graph(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(selected): Query<Selected>,
) -> Answer<RunGraph> {
    Ok(Json(operations.run(&chat, None).await?.graph(selected.step()?).await?))
}

pub(crate) async fn provenance(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(selected): Query<Selected>,
) -> Answer<ProvenanceView> {
    let (branch, step) = (selected.branch.as_deref(), selected.step()?);
    let message = selected.message.as_deref().map(Into::into);
    Ok(Json(operations.provenance(&chat, branch, message, step).await?))
}
