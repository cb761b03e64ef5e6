//! A round of a run as a drawing.

use maud::{Markup, html};

use super::run::Place;
use crate::operations::{GraphBox, GraphBoxKind, GraphEdge, Run, RunGraph, StepDetail};
use crate::{OperationError, content};

/// Data that is further from its step than this has other lanes between.
const FAR: usize = 80;
/// The longest text in a box, in characters.
const TEXT: usize = 31;

/// Returns the round of the selected step, or the newest one.
pub(super) async fn graph(
    run: &Run,
    place: &Place<'_>,
    step: Option<&StepDetail>,
) -> Result<Markup, OperationError> {
    let drawn = run.graph(step.map(|step| step.step)).await?;
    let selected = step.map(|step| step.step);
    Ok(html! {
        div class="graphbox" {
            div class="graphbar" {
                span {
                    @if drawn.agent > 0 { "Agent " (drawn.agent) ", r" } @else { "R" }
                    "ound " (drawn.round)
                }
                button type="button" data-zoom="out" title="Smaller (-)" aria-label="Smaller" {
                    "−" }
                button type="button" data-zoom="in" title="Larger (+)" aria-label="Larger" { "+" }
                button type="button" data-zoom="fit" title="Fit (0)" { "Fit" }
                @if drawn.left_out_before + drawn.left_out_after > 0 {
                    span class="note" {
                        "A large round: " (drawn.left_out_before) " steps before and "
                        (drawn.left_out_after)
                            " after are not drawn. Select another step in the list to see those around it."
                    }
                }
            }
            div class="steps drawing" tabindex="0" role="region" aria-label="Drawing of the round" {
                svg width=(drawn.width) height=(drawn.height)
                    viewBox={ "0 0 " (drawn.width) " " (drawn.height) }
                    data-width=(drawn.width) data-height=(drawn.height) {
                    @for edge in &drawn.edges { (line(edge, &drawn)) }
                    @for one in &drawn.boxes {
                        @let is_selected = one.node.is_some() && one.node == selected
                            && one.kind != GraphBoxKind::More;
                        (shape(one, place, is_selected))
                    }
                }
            }
        }
    })
}

fn line(edge: &GraphEdge, graph: &RunGraph) -> Markup {
    let (from, to) = (&graph.boxes[edge.from], &graph.boxes[edge.to]);
    let beside = matches!(to.kind, GraphBoxKind::Data | GraphBoxKind::Agent | GraphBoxKind::More);
    let path = if beside {
        let (x, y) = (from.x + from.width, from.y + from.height / 2);
        let (to_x, to_y) = (to.x, to.y + to.height / 2);
        if to_x > x + FAR {
            // Other lanes are between: below the row there is room.
            let (x, y, turn) = (x.saturating_sub(FAR / 4), from.y + from.height, to_x - 24);
            let low = y + 9;
            let path = format!(
                "M{x} {y} L {x} {low} L {turn} {low} C {to_x} {low} {turn} {to_y} {to_x} {to_y}"
            );
            return drawn(edge, &path);
        }
        let middle = to_x.saturating_sub(24).max(x);
        format!("M{x} {y} C {middle} {y} {middle} {to_y} {to_x} {to_y}")
    } else {
        let (x, y) = (from.x + from.width / 2, from.y + from.height);
        let (to_x, to_y) = (to.x + to.width / 2, to.y);
        if x == to_x {
            format!("M{x} {y} L {to_x} {to_y}")
        } else {
            let low = to_y.saturating_sub(18).max(y);
            format!("M{x} {y} L {x} {low} C {x} {to_y} {to_x} {low} {to_x} {to_y}")
        }
    };
    drawn(edge, &path)
}

fn drawn(edge: &GraphEdge, path: &str) -> Markup {
    let class = format!(
        "edge{}{}",
        if edge.reference { " refers" } else { "" },
        if edge.dead { " dead" } else { "" }
    );
    html! { path class=(class) d=(path) {} }
}

fn shape(one: &GraphBox, place: &Place<'_>, selected: bool) -> Markup {
    let kind = match one.kind {
        GraphBoxKind::Step => "step",
        GraphBoxKind::Data => "data",
        GraphBoxKind::Agent => "agent",
        GraphBoxKind::Round => "round",
        GraphBoxKind::More => "more",
    };
    let class = format!(
        "box {kind} {}{}{}",
        one.state.as_str(),
        if one.dead { " dead" } else { "" },
        if selected { " current" } else { "" }
    );
    let middle = one.y + one.height / 2 + 5;
    let text = match &one.params {
        Some(params) => {
            let room = TEXT.saturating_sub(one.name.chars().count()).max(6);
            context_runtime::display::preview(&content::summary(params.as_str()), room)
        }
        None => one.text.clone(),
    };
    let inner = html! {
        title { (one.name) " " (text) " (" (one.state.as_str()) ")" }
        rect x=(one.x) y=(one.y) width=(one.width) height=(one.height) rx="6" {}
        text x=(one.x + 10) y=(middle) {
            tspan class="name" { (one.name) } " " tspan class="of" { (text) }
        }
    };
    // Boxes of other rounds lead to another drawing.
    let leaves = matches!(one.kind, GraphBoxKind::Agent | GraphBoxKind::Round);
    match one.node {
        Some(node) => html! {
            a class=(class) href=(place.step("graph", Some(node))) data-step=(node)
                data-leaves=[leaves.then_some("yes")] { (inner) }
        },
        None => html! { g class=(class) { (inner) } },
    }
}
