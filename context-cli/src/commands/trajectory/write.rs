//! `trajectory graph` and `trajectory export`: write a session as a drawing or in the format of
//! another tool.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use clap::ValueEnum;
use context_runtime::trajectory::export::otlp::{OtlpOptions, write_otlp_json};
use context_runtime::trajectory::export::{
    AtifOptions, DiagramOptions, write_atif, write_chrome_trace, write_dot, write_mermaid,
    write_prov_json,
};
use context_runtime::trajectory::peer::{Generation, export_folder};
use context_runtime::trajectory::{AgentNode, Selection, SessionGraph, TrajectoryError};
use context_runtime::{ErrorKind, Store};
use context_server::{FirstView, StepId};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::export_html;
use super::super::output_args::OutputArgs;
use super::{outline, session};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, count};

/// Draw a session.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context trajectory graph support-7         a line for each node
  context trajectory graph support-7 --format html --output support-7.html
  context trajectory graph support-7 --active --format dot | dot -Tsvg >support-7.svg
  context trajectory graph support-7 --around 2.5 --depth 3 --format mermaid

A page (html) is the run of the whole session as `context ui` shows it, in one file that needs no
network; --round or --around is where it opens. --json alone is --format json: a record for each
node.")]
pub(super) struct GraphArgs {
    /// The session
    session: String,
    /// The format [default: text]
    #[arg(long, value_enum)]
    format: Option<GraphFormat>,
    #[command(flatten)]
    part: PartArgs,
    #[command(flatten)]
    to: OutputArgs,
}

/// The options that select a part of a session.
#[derive(clap::Args, Debug)]
struct PartArgs {
    /// Only active branches, with their data
    #[arg(long, conflicts_with_all = ["round", "around"])]
    active: bool,
    /// Only this round, and the sub-agents called from it
    #[arg(long, value_name = "N", conflicts_with = "around")]
    round: Option<u32>,
    /// Only the nodes near this node, such as 2.5
    #[arg(long, value_name = "NODE")]
    around: Option<String>,
    /// The largest distance in edges
    #[arg(long, value_name = "N", default_value_t = 2, requires = "around")]
    depth: u32,
    /// The agent of that node, 0 for the main one
    #[arg(long, value_name = "N", default_value_t = 0, requires = "around")]
    agent: u32,
}

impl PartArgs {
    fn is_some(&self) -> bool {
        self.active || self.round.is_some() || self.around.is_some()
    }
}

/// Write a session in the format of another tool.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context trajectory export support-7 --format otlp --output trace.json
  context trajectory export support-7 --format atif | jq .steps
  context trajectory export support-7 --format peer --output runs/

Formats: otlp (traces for OpenTelemetry, without content unless --content), prov (W3C PROV-JSON),
atif (ATIF 1.7), chrome (events for Perfetto), html (a page of the whole session, opened at --round
or --around), mermaid, dot, and peer (files of DataGallery's dataagent, two for each round, into
the folder --output: one folder for each session, because the file names do not contain the
session; its existing files are never replaced).")]
pub(super) struct ExportArgs {
    /// The session
    session: String,
    /// The format
    #[arg(long, value_enum)]
    format: ExportFormat,
    #[command(flatten)]
    part: PartArgs,
    /// Include messages and tool data in traces
    #[arg(long)]
    content: bool,
    #[command(flatten)]
    to: OutputArgs,
}

/// The format of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    /// Lines of characters
    Text,
    /// A Mermaid flow chart
    Mermaid,
    /// A graph for Graphviz
    Dot,
    /// A page for a browser
    Html,
    /// Records, as --json writes them
    Json,
}

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// OpenTelemetry: OTLP as JSON
    Otlp,
    /// W3C PROV-JSON
    Prov,
    /// ATIF 1.7
    Atif,
    /// Chrome trace events
    Chrome,
    /// A page for a browser
    Html,
    /// A Mermaid flow chart
    Mermaid,
    /// A graph for Graphviz
    Dot,
    /// Files of DataGallery's dataagent
    Peer,
}

/// JSON record of a folder that was written.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct WrittenRecord<'a> {
    v: u32,
    session: &'a str,
    output: String,
    /// The number of rounds in the folder.
    rounds: usize,
    /// The parts that the format cannot hold.
    left_out: Vec<String>,
}

fn select(graph: SessionGraph, part: &PartArgs) -> Result<SessionGraph, Failure> {
    let session = graph.session().clone();
    let refused =
        |error: TrajectoryError| Failure::Store(error.during("find").with("session", &session));
    let selection = match (part.active, part.round, &part.around) {
        (true, _, _) => Selection::ActiveBranches,
        (_, Some(round), _) => Selection::Round(round),
        (_, _, Some(text)) => {
            let side = graph.agents().find(|side| side.number() == part.agent);
            let unknown = || refused(TrajectoryError::UnknownNode { node: text.clone() });
            let node = side.ok_or_else(unknown)?.trajectory().resolve(text).map_err(refused)?.id;
            Selection::Around { node: AgentNode::new(part.agent, node), depth: part.depth }
        }
        _ => Selection::Whole,
    };
    graph.select(selection).map_err(refused)
}

/// Returns the step that the options name: a node, or the first one of a round.
fn first_step(graph: SessionGraph, part: &PartArgs) -> Result<Option<StepId>, Failure> {
    let part_of = select(graph, part)?;
    let mut agents = part_of.agents().filter(|side| side.number() == part.agent);
    let Some(agent) = agents.next() else { return Ok(None) };
    let named = part.around.as_ref().and_then(|text| agent.trajectory().resolve(text).ok());
    let node = named.map(|node| node.id).or_else(|| agent.nodes().map(|node| node.id).min());
    Ok(node.map(|node| StepId::new(part.agent, node)))
}

pub(super) async fn graph(args: GraphArgs, app: &mut App) -> Result<Outcome, Failure> {
    args.to.redirect(&mut app.out)?;
    let store = app.store_to_read().await?;
    if args.format == Some(GraphFormat::Html) {
        return page(app, store, &args.session, &args.part).await;
    }
    let graph = select(session(app, &store, &args.session).await?, &args.part)?;
    let options = DiagramOptions::default();
    let format = args.format.unwrap_or(GraphFormat::Text);
    let text = match format {
        GraphFormat::Mermaid => drawn(|out| write_mermaid(&graph, &options, out))?,
        GraphFormat::Dot => drawn(|out| write_dot(&graph, &options, out))?,
        GraphFormat::Text | GraphFormat::Json | GraphFormat::Html => {
            let records = format == GraphFormat::Json || app.out.is_json();
            outline::write(app, &graph, None, records)?;
            return Ok(Outcome::Success);
        }
    };
    app.out.bytes(&text)?;
    Ok(Outcome::Success)
}

pub(super) async fn export(args: ExportArgs, app: &mut App) -> Result<Outcome, Failure> {
    if args.content && args.format != ExportFormat::Otlp {
        return Err(Failure::Usage("--content needs --format otlp".into()));
    }
    if args.format == ExportFormat::Peer && args.part.is_some() {
        return Err(Failure::Usage(
            "--format peer writes whole sessions: leave out --active, --round and --around".into(),
        ));
    }
    let store = app.store_to_read().await?;
    if args.format == ExportFormat::Peer {
        let folder = args.to.file().filter(|_| !args.to.force()).ok_or_else(|| {
            Failure::Usage("--format peer needs a folder, and no --force: --output FOLDER".into())
        })?;
        let graph = session(app, &store, &args.session).await?;
        return to_folder(app, &args.session, &graph, folder);
    }
    args.to.redirect(&mut app.out)?;
    if args.format == ExportFormat::Html {
        return page(app, store, &args.session, &args.part).await;
    }
    let graph = select(session(app, &store, &args.session).await?, &args.part)?;
    let diagram = DiagramOptions::default();
    let text = drawn(|out| match args.format {
        ExportFormat::Otlp => {
            let options = OtlpOptions::default();
            let options = if args.content { options.with_content() } else { options };
            write_otlp_json(&graph, &options, out)
        }
        ExportFormat::Prov => write_prov_json(&graph, out),
        ExportFormat::Atif => {
            write_atif(&graph, &AtifOptions::new("context", env!("CARGO_PKG_VERSION")), out)
        }
        ExportFormat::Chrome => write_chrome_trace(&graph, out),
        ExportFormat::Mermaid => write_mermaid(&graph, &diagram, out),
        ExportFormat::Dot | ExportFormat::Html | ExportFormat::Peer => {
            write_dot(&graph, &diagram, out)
        }
    })?;
    app.out.bytes(&text)?;
    Ok(Outcome::Success)
}

/// Writes the page of a session, opened at its run or at a step of it.
async fn page(
    app: &mut App,
    store: Arc<dyn Store>,
    name: &str,
    part: &PartArgs,
) -> Result<Outcome, Failure> {
    if part.active {
        return Err(Failure::Usage(
            "--format html has the whole session: leave out --active".into(),
        ));
    }
    let graph = session(app, &store, name).await?;
    let first = match part.is_some() {
        true => first_step(graph, part)?.map_or(FirstView::Run, FirstView::Step),
        false => FirstView::Run,
    };
    export_html::page(app, store, (name, None), first).await?;
    Ok(Outcome::Success)
}

fn drawn(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    write(&mut text).map_err(Failure::Write)?;
    if !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    Ok(text)
}

fn to_folder(
    app: &mut App,
    session: &str,
    graph: &SessionGraph,
    folder: &Path,
) -> Result<Outcome, Failure> {
    let cannot_write = |source| Failure::WriteFile { file: folder.display().to_string(), source };
    fs::create_dir_all(folder).map_err(cannot_write)?;
    let sides: Vec<_> = graph.agents().collect();
    let rounds = sides.iter().flat_map(|side| side.trajectory().rounds());
    let records: Vec<_> = rounds.map(|round| round.to_record()).collect();
    let done =
        export_folder(folder, &records, Generation::default()).map_err(|error| {
            match error.get("file") {
                Some(file) if error.kind() == ErrorKind::Invalid => {
                    Failure::Exists { file: file.to_owned() }
                }
                _ => error.into(),
            }
        })?;
    let left_out =
        done.left_out.iter().map(|(round, what)| format!("round {}: {what}", round.round));
    let left_out = left_out.collect();
    report_written(app, session, folder.display().to_string(), done.rounds, left_out)
}

fn report_written(
    app: &mut App,
    session: &str,
    output: String,
    rounds: usize,
    left_out: Vec<String>,
) -> Result<Outcome, Failure> {
    if app.out.is_json() {
        app.out.record(&WrittenRecord { v: 1, session, output, rounds, left_out })?;
        return Ok(Outcome::Success);
    }
    let done = app.out.paint(Style::Green, "wrote").to_string();
    let what = count(rounds, "round");
    app.out.line(format_args!("{done} {what} of {} to {}", clean(session), clean(&output)))?;
    for what in &left_out {
        app.out.note(clean(what));
    }
    Ok(Outcome::Success)
}
