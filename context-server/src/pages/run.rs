//! The run of a chat: one selected step in four views.

use axum::extract::{Path, Query, State};
use context_runtime::display::grouped;
use maud::{Markup, html};

use super::shell::{Shell, Tab};
use super::{OrPage, PageError, graph, provenance, step as detail};
use crate::api::run::Selected;
use crate::links::{Links, encode};
use crate::operations::{Run, RunOrigin, StepDetail, StepId};
use crate::{OperationError, Operations};

/// The views of a run, with their names.
const VIEWS: [(&str, &str); 4] = [
    ("list", "List"),
    ("waterfall", "Waterfall"),
    ("graph", "Graph"),
    ("provenance", "Provenance"),
];

/// The address of what is selected, for links within the run.
pub(super) struct Place<'a> {
    pub(super) links: &'a Links,
    pub(super) chat: &'a str,
    pub(super) branch: Option<&'a str>,
    pub(super) view: &'static str,
}

impl Place<'_> {
    /// Returns the address of a step in a view.
    pub(super) fn step(&self, view: &str, step: Option<StepId>) -> String {
        let node = step.map(|step| format!("&node={step}")).unwrap_or_default();
        let branch = self.branch.map(|it| format!("&branch={}", encode(it))).unwrap_or_default();
        format!("{}?view={view}{node}{branch}", self.links.chat(self.chat, "run"))
    }

    /// Returns the address of a message in a view.
    pub(super) fn message(&self, view: &str, message: &str) -> String {
        let branch = self.branch.map(|it| format!("&branch={}", encode(it))).unwrap_or_default();
        let run = self.links.chat(self.chat, "run");
        format!("{run}?view={view}&message={}{branch}", encode(message))
    }
}

pub(crate) async fn run(
    State(operations): State<Operations>,
    links: Links,
    Path(chat): Path<String>,
    Query(selected): Query<Selected>,
) -> Result<Markup, PageError> {
    let (found, ..) = operations.chat(&chat).await.or_page(&links)?;
    let run = operations.run(&chat, None).await.or_page(&links)?;
    let shown = selected.view.as_deref().and_then(|view| VIEWS.iter().find(|it| it.0 == view));
    let view = shown.map_or("list", |(view, _)| *view);
    let branch = selected.branch.as_deref().filter(|branch| !branch.is_empty());
    let place = Place { links: &links, chat: &chat, branch, view };
    let step = find(&run, &selected).await.or_page(&links)?;
    let title = found.title.as_deref().unwrap_or(&chat);
    let body = html! {
        main id="main" class="run" data-view="run" tabindex="-1" data-shown=(view)
            data-chat=(chat) data-branch=(branch.unwrap_or(found.active.as_str()))
            data-api=(links.api(&chat, "")) data-steps=(links.chat(&chat, "run"))
            data-version=(run.version) data-lines=(run.lines()) data-blocks=(blocks(&run, view))
            data-node=[step.as_ref().map(|step| step.step)]
            data-line=[step.as_ref().map(|step| step.line)]
            data-readonly=[operations.is_read_only().then_some("yes")] {
            (bar(&run, &place, step.as_ref().map(|step| step.step)))
            @if view == "provenance" {
                (provenance::provenance(&operations, &place, &selected).await.or_page(&links)?)
            } @else if run.lines() == 0 {
                (empty(&run, &chat))
            } @else {
                div class="runframe" {
                    @if view == "graph" {
                        (graph::graph(&run, &place, step.as_ref()).await.or_page(&links)?)
                    } @else {
                        div class="stepbox" {
                            (head(view))
                            div class="steps" tabindex="-1" role="region" aria-label="Steps" {
                                div class="space" {}
                            }
                        }
                    }
                    aside class="detail" id="detail" aria-label="Step" tabindex="-1" {
                        @match &step {
                            Some(step) => (detail::detail(step, &place)),
                            None => p class="note" { "Select a step to see it in full." },
                        }
                    }
                }
            }
        }
    };
    Ok(Shell::new(&links, title, Tab::Run).chat(&chat, branch).page(&body))
}

/// A step in full, for the panel beside the list.
pub(crate) async fn step(
    State(operations): State<Operations>,
    links: Links,
    Path(chat): Path<String>,
    Query(selected): Query<Selected>,
) -> Result<Markup, OperationError> {
    let run = operations.run(&chat, None).await?;
    let step = find(&run, &selected).await?;
    let step = step.ok_or_else(|| OperationError::invalid("node", "a step has to be named"))?;
    let view = VIEWS.iter().find(|it| Some(it.0) == selected.view.as_deref());
    let branch = selected.branch.as_deref();
    let view = view.map_or("list", |(view, _)| *view);
    Ok(detail::detail(&step, &Place { links: &links, chat: &chat, branch, view }))
}

/// Returns the step that the address names. A message that no step stands for selects nothing.
async fn find(run: &Run, selected: &Selected) -> Result<Option<StepDetail>, OperationError> {
    let step = match (selected.step()?, &selected.message) {
        (Some(step), _) => Some(step),
        (None, Some(message)) => run.step_of(&message.as_str().into()).await?,
        (None, None) => None,
    };
    match step {
        Some(step) => Ok(Some(run.step(step).await?)),
        None => Ok(None),
    }
}

/// Returns the number of lines of each block, for the views that draw lines.
fn blocks(run: &Run, view: &str) -> String {
    if !matches!(view, "list" | "waterfall") {
        return String::new();
    }
    let mut text = String::with_capacity(run.heads.len() * 3);
    for (at, lines) in run.blocks().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        text.push_str(&lines.to_string());
    }
    text
}

fn bar(run: &Run, place: &Place<'_>, step: Option<StepId>) -> Markup {
    let lines = matches!(place.view, "list" | "waterfall") && run.lines() > 0;
    html! {
        div class="runbar" {
            nav class="views" aria-label="Views of the run" {
                @for (view, name) in VIEWS {
                    a href=(place.step(view, step)) data-shows=(view)
                        aria-current=[(view == place.view).then_some("page")] { (name) }
                }
            }
            span class="note facts" {
                (counted(run.heads.len(), "round")) " · " (counted(run.lines(), "step"))
                @if run.agents() > 1 { " · " (counted(run.agents(), "agent")) }
                @if run.origin == RunOrigin::Derived && run.lines() > 0 {
                    " · "
                    span title="Nobody recorded this run. Its steps are made from the messages of the chat, so times and cost may be unknown." {
                        "made from the messages"
                    }
                }
            }
            @if lines {
                span class="space" {}
                button type="button" data-do="foldall" title="Show questions only, or all steps" {
                    "Questions only"
                }
                button type="button" data-do="failure" title="Next failure (e)" { "Next failure" }
            }
        }
    }
}

fn counted(number: usize, one: &str) -> String {
    format!("{} {one}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

fn head(view: &str) -> Markup {
    html! {
        div class={ "step head as-" (view) } aria-hidden="true" {
            span class="what" { "Step" }
            @if view == "waterfall" {
                span class="track" { "Time within the round; ◇ by order, no time recorded" }
            } @else {
                span class="n in" { "In" } span class="n out" { "Out" }
                span class="n cached" { "Cached" } span class="n cost" { "Cost" }
            }
            span class="n took" { "Time" }
        }
    }
}

fn empty(run: &Run, chat: &str) -> Markup {
    html! {
        div class="empty" {
            @if run.origin == RunOrigin::TooLong {
                p { "This run is not recorded, and the chat is too long to make its steps from the messages while you wait. To record them once:" }
                pre { code { "context trajectory record " (quoted(chat)) } }
            } @else {
                p { "This chat has no steps yet: a run begins with a question." }
            }
        }
    }
}

/// Returns a name as an argument of a shell.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':');
    if !name.is_empty() && name.chars().all(plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}
