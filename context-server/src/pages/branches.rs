//! The branches of a chat as a tree.

use axum::extract::{Path, State};
use context_runtime::display::grouped;
use maud::{Markup, html};

use super::shell::{Shell, Tab, time};
use super::{OrPage, PageError};
use crate::Operations;
use crate::links::{Links, encode};
use crate::operations::{BranchLine, BranchTree};

/// The width of a lane of the drawing, and the most lanes that are told apart.
const LANE: usize = 16;
const LANES: usize = 12;
/// The height of a line, as the styles have it.
const HEIGHT: usize = 28;

pub(crate) async fn branches(
    State(operations): State<Operations>,
    links: Links,
    Path(chat): Path<String>,
) -> Result<Markup, PageError> {
    let (found, ..) = operations.chat(&chat).await.or_page(&links)?;
    let tree = operations.tree(&chat).await.or_page(&links)?;
    let title = found.title.as_deref().unwrap_or(&chat);
    let body = html! {
        main id="main" class="wide" data-view="branches" data-chat=(chat)
            data-api=(links.api(&chat, ""))
            data-readonly=[operations.is_read_only().then_some("yes")] {
            div class="heading" { h1 { "Branches" } span class="note" { (tree.branches.len()) } }
            (drawing(&tree, &chat, &links, operations.is_read_only()))
            @if !tree.checkpoints.is_empty() {
                h2 { "Checkpoints" }
                ul class="checkpoints" {
                    @for (name, message) in &tree.checkpoints {
                        @let address = links.message(&chat, None, message.as_str());
                        li { a href=(address) { bdi { (name) } } }
                    }
                }
            }
        }
    };
    Ok(Shell::new(&links, title, Tab::Branches).chat(&chat, None).page(&body))
}

/// Returns a line for each branch, below the one that it left. The active one is straight and bold.
fn drawing(tree: &BranchTree, chat: &str, links: &Links, read_only: bool) -> Markup {
    let lines = ordered(tree);
    html! {
        ol class="tree" {
            @for (line, depth) in &lines {
                li class={ @if line.active { "active" } @else { "idle" } } {
                    span class="lane" data-depth=((*depth).min(LANES)) aria-hidden="true" {
                        (lane(*depth, line.active))
                    }
                    span class="branch" {
                        a href={ (links.chat(chat, "")) "?branch=" (encode(&line.name)) } {
                            bdi { (line.name) }
                        }
                        @if line.active { span class="badge" { "active" } }
                    }
                    span class="n" { (grouped(line.own)) " own of " (grouped(line.messages)) }
                    span class="when" { @if let Some(at) = line.updated_at { (time(at)) } }
                    span class="preview" dir="auto" {
                        @if let Some(fork) = &line.fork {
                            a href=(links.message(chat, Some(&line.name), fork.as_str())) {
                                "after message " (line.depth)
                            }
                            @if let Some(parent) = &line.parent { " of " bdi { (parent) } }
                            ": "
                        }
                        (line.preview)
                    }
                    @if !line.active {
                        span class="acts" {
                            a href={ (links.chat(chat, "branches/compare")) "?left="
                                (encode(&line.name)) } title="Beside the active branch" {
                                "Compare" }
                            @if !read_only {
                            button type="button" data-act="switch" data-branch=(line.name) {
                                "Make active" }
                            button type="button" data-act="delete_branch" data-branch=(line.name)
                                { "Delete…" }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the branches so that each comes after the one it left, with the number of forks before.
fn ordered(tree: &BranchTree) -> Vec<(&BranchLine, usize)> {
    let mut lines = Vec::with_capacity(tree.branches.len());
    let roots = tree.branches.iter().filter(|line| line.parent.is_none());
    let mut open: Vec<(&BranchLine, usize)> = roots.map(|line| (line, 0)).collect();
    open.reverse();
    while let Some((line, depth)) = open.pop() {
        lines.push((line, depth));
        let children = tree.branches.iter().filter(|it| it.parent.as_deref() == Some(&*line.name));
        let mut children: Vec<_> = children.map(|child| (child, depth + 1)).collect();
        // The latest fork is nearest to the end of its parent.
        children.sort_by_key(|(child, _)| child.depth);
        open.extend(children);
    }
    lines
}

fn lane(depth: usize, active: bool) -> Markup {
    let depth = depth.min(LANES);
    let (x, width) = (depth * LANE + 8, LANES.min(depth + 1) * LANE);
    html! {
        svg width=(width) height=(HEIGHT) viewBox={ "0 0 " (width) " " (HEIGHT) } {
            @for before in 0..depth {
                @let x = before * LANE + 8;
                line x1=(x) y1="0" x2=(x) y2=(HEIGHT) class="rail" {}
            }
            @if depth > 0 {
                path d={ "M" (x - LANE) " 0 C " (x - LANE) " 14 " (x) " 0 " (x) " 14" }
                    class="bend" {}
            }
            circle cx=(x) cy="14" r=(if active { 5 } else { 4 }) {}
        }
    }
}
