//! The run in a file: its views, all of its lines, and some of its steps in full.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::HtmlExportError;
use super::page_file::PageFile;
use crate::Operations;
use crate::links::{Links, encode};
use crate::operations::{StepId, StepState};

/// The steps that a file has in full.
const STEPS: usize = 1_000;
/// The lines of a page, as the script asks for them.
const LINES: usize = 200;

/// Adds the run of a session. Returns how many steps can be opened, and of how many: the first, or
/// those around a step.
pub(super) async fn add(
    file: &mut PageFile<'_, impl Write>,
    operations: &Operations,
    session: &str,
    around: Option<StepId>,
) -> Result<(usize, usize), HtmlExportError> {
    let links = Links::default();
    let (page, api) = (links.chat(session, "run"), links.api(session, "run"));
    let run = operations.run(session, None).await?;
    // The pages of a chat of another name lead to the run of that name.
    let chat = run.chat.as_deref().unwrap_or(session);
    let of_chat = links.chat(chat, "run");
    let body = file.page(&page).await?;
    file.put(&[page.clone(), of_chat.clone()], body)?;
    for view in ["list", "waterfall", "graph", "provenance"] {
        file.add(&format!("{page}?view={view}")).await?;
    }
    let first = match around {
        None => 0,
        Some(step) => {
            let line = run.line_of(step).await?;
            line.saturating_sub(STEPS / 2).min(run.lines().saturating_sub(STEPS))
        }
    };
    let mut failures = Vec::new();
    for from in (0..run.lines()).step_by(LINES) {
        file.add(&format!("{api}/lines?from={from}&count={LINES}")).await?;
        let lines = run.lines_of(from, LINES).await?;
        let failed = lines.iter().filter(|line| line.state == StepState::Failed);
        failures.extend(failed.map(|line| line.line));
    }
    let failures = serde_json::to_string(&failures).map_err(io::Error::from)?;
    file.put(&[format!("{api}/failures")], failures)?;
    let steps = run.lines_of(first, STEPS).await?;
    let mut rounds = BTreeSet::new();
    for line in &steps {
        let node = encode(&line.node.to_string());
        file.add(&format!("{page}/step?node={node}")).await?;
        file.put(&[format!("{api}/step?node={node}")], format!("{{\"line\":{}}}", line.line))?;
        let body = file.page(&format!("{page}?view=provenance&node={node}")).await?;
        let mut addresses = vec![format!("{page}?view=provenance&node={node}")];
        if let Some(message) = &line.message {
            let query = format!("?view=provenance&message={}", encode(message.as_str()));
            addresses.extend([format!("{page}{query}"), format!("{of_chat}{query}")]);
        }
        file.put(&addresses, body)?;
        // One drawing for all steps of a round, which the script marks.
        let (agent, round) = (line.node.agent, line.node.node.round);
        if rounds.insert((agent, round)) {
            let body = file.page(&format!("{page}?view=graph&node={node}")).await?;
            file.put(&[format!("{page}?view=graph&node={agent}%3A{round}")], body)?;
        }
    }
    Ok((steps.len(), run.lines()))
}
