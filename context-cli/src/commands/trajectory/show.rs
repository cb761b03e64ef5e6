//! `trajectory show`: shows rounds step by step, or one node in full.

use std::sync::Arc;

use context_runtime::Error;
use context_runtime::trajectory::{
    AgentGraph, FieldValue, Relation, SessionGraph, Trajectory, TrajectoryNode,
};

use super::outline::{self, named};
use super::session;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, clean_lines};

/// Show rounds step by step, or one node in full.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context trajectory show support-7          every round of every agent
  context trajectory show support-7 2        round 2
  context trajectory show support-7 2.5      number 5 of round 2, with its earlier values
  context trajectory show support-7 'Action(call_9)' --agent 1

A star marks the endpoints of a round; an arrow points to the node that a node follows. With
--json there is a record for each node.")]
pub(super) struct Args {
    /// The session
    session: String,
    /// A round such as 2, or a node such as 2.5 or `Action(call_9)`
    #[arg(value_name = "ROUND|NODE")]
    what: Option<String>,
    /// The agent, 0 for the main one [default: all for rounds, the main one for a node]
    #[arg(long, value_name = "N")]
    agent: Option<u32>,
}

pub(super) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let graph = session(app, &store, &args.session).await?;
    let records = app.out.is_json();
    match args.what.as_deref() {
        None => outline::write(app, &graph, args.agent, records)?,
        Some(what) => match what.parse::<u32>() {
            Ok(round) => {
                let agent = args.agent.unwrap_or_default();
                outline::write(app, &of_round(app, &graph, agent, round)?, Some(agent), records)?;
            }
            Err(_) => node(app, &graph, args.agent.unwrap_or_default(), what)?,
        },
    }
    Ok(Outcome::Success)
}

fn side(graph: &SessionGraph, agent: u32) -> Result<AgentGraph<'_>, Failure> {
    let found = graph.agents().find(|side| side.number() == agent);
    Ok(found
        .ok_or_else(|| Error::not_found("find", "agent", agent).with("session", graph.session()))?)
}

/// Returns a session that contains only one round of one agent, with its state in the whole
/// session.
fn of_round(
    app: &App,
    graph: &SessionGraph,
    agent: u32,
    number: u32,
) -> Result<SessionGraph, Failure> {
    let side = side(graph, agent)?;
    let round = side.trajectory().round(number);
    let round = round.ok_or_else(|| {
        Error::not_found("find", "round", number).with("session", graph.session())
    })?;
    let mut round = Arc::clone(round);
    let state = side.rounds().find(|shown| shown.number() == number).map(|shown| shown.state());
    // A round on its own does not show that a later one has begun.
    if let Some(state) = state.filter(|state| *state != round.state()) {
        let at = round.head().updated_at;
        Arc::make_mut(&mut round).set_state(state, at);
    }
    let alone = Trajectory::new([round], Default::default());
    Ok(SessionGraph::new(app.user.clone(), graph.session().clone(), [(agent, alone)]))
}

fn node(app: &mut App, graph: &SessionGraph, agent: u32, text: &str) -> Result<(), Failure> {
    let side = side(graph, agent)?;
    let trajectory = side.trajectory();
    let node = trajectory
        .resolve(text)
        .map_err(|error| error.during("find").with("session", graph.session()))?;
    if app.out.is_json() {
        return outline::record(app, graph, side, node);
    }
    let by =
        node.author.as_ref().map(|author| format!(" · by {}", clean(author))).unwrap_or_default();
    let id = app.out.paint(Style::Yellow, named(node)).to_string();
    app.out.line(format_args!("{id} · {}{by}", app.out.when(node.created_at)))?;
    if !node.description.is_empty() {
        app.out.line(format_args!("  {}", clean(&node.description)))?;
    }
    let name = |id| trajectory.node(id).map_or_else(|| format!("{id}"), |node| named(node));
    for edge in trajectory.predecessors(node.id) {
        app.out.line(format_args!("  follows {} ({})", name(edge.from), clean(&edge.name)))?;
    }
    for edge in trajectory.successors(node.id) {
        app.out.line(format_args!("  leads to {} ({})", name(edge.to), clean(&edge.name)))?;
    }
    let own =
        trajectory.round(node.id.round).into_iter().flat_map(|round| round.edges_from(node.id));
    for edge in own.filter(|edge| edge.relation() == Relation::Reference) {
        app.out.line(format_args!("  read {}", name(edge.to)))?;
    }
    for link in &node.messages {
        let (chat, message) = (clean(link.chat.as_str()), clean(link.message.as_str()));
        app.out.line(format_args!("  message {message} of chat {chat}"))?;
    }
    fields(app, node)
}

fn fields(app: &mut App, node: &TrajectoryNode) -> Result<(), Failure> {
    if let Some(measures) = node.value("measures").filter(|_| node.measures.is_some()) {
        app.out.line(format_args!("  measures {}", measures.to_json().as_str()))?;
    }
    for (field, value) in
        node.body.iter().filter(|(_, value)| !value.as_text().is_some_and(str::is_empty))
    {
        write_field(app, "", field.name, value)?;
    }
    for version in &node.versions {
        let by = version
            .author
            .as_ref()
            .map(|author| format!(", by {}", clean(author)))
            .unwrap_or_default();
        let until =
            format!("\nversion {} until {}{by} was:", version.number, app.out.when(version.at));
        let until = app.out.paint(Style::Dim, until).to_string();
        app.out.line(until)?;
        for (name, value) in version.previous.iter() {
            write_field(app, "  ", name, value)?;
        }
    }
    Ok(())
}

fn write_field(app: &mut App, indent: &str, name: &str, value: &FieldValue) -> Result<(), Failure> {
    let json = value.to_json();
    let text = json.to_text().unwrap_or_else(|| json.as_str().to_owned());
    let between = if text.contains('\n') { "\n" } else { " " };
    app.out.line(format_args!("{indent}{name}:{between}{}", clean_lines(&text)))
}
