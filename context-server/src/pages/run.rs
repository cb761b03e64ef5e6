//! The run of a session: one selected step in four views.

use axum::extract::{Path, Query, State};
use context_runtime::display::grouped;
use maud::{Markup, html};

use super::shell::{NO_CHAT, Shell, Tab};
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
    pub(super) session: &'a str,
    /// The chat whose messages the steps stand for, if there is one.
    pub(super) chat: Option<&'a str>,
    pub(super) branch: Option<&'a str>,
    pub(super) view: &'static str,
}

impl Place<'_> {
    /// Returns the address of a step in a view.
    pub(super) fn step(&self, view: &str, step: Option<StepId>) -> String {
        let node = step.map(|step| format!("&node={step}")).unwrap_or_default();
        let branch = self.branch.map(|it| format!("&branch={}", encode(it))).unwrap_or_default();
        format!("{}?view={view}{node}{branch}", self.links.chat(self.session, "run"))
    }

    /// Returns the address of a message in a view.
    pub(super) fn message(&self, view: &str, message: &str) -> String {
        let branch = self.branch.map(|it| format!("&branch={}", encode(it))).unwrap_or_default();
        let run = self.links.chat(self.session, "run");
        format!("{run}?view={view}&message={}{branch}", encode(message))
    }
}

pub(crate) async fn run(
    State(operations): State<Operations>,
    links: Links,
    Path(session): Path<String>,
    Query(selected): Query<Selected>,
) -> Result<Markup, PageError> {
    let run = operations.run(&session, None).await.or_page(&links)?;
    let chat = match &run.chat {
        Some(chat) => Some(operations.chat(chat).await.or_page(&links)?.0),
        None => None,
    };
    let of_chat = run.chat.as_deref();
    let shown = selected.view.as_deref().and_then(|view| VIEWS.iter().find(|it| it.0 == view));
    let view = shown.map_or("list", |(view, _)| *view);
    let branch = selected.branch.as_deref().filter(|branch| !branch.is_empty());
    let place = Place { links: &links, session: &session, chat: of_chat, branch, view };
    let step = find(&run, &selected).await.or_page(&links)?;
    let own = chat.as_ref().filter(|chat| chat.chat.chat.as_str() == session);
    let title = own.and_then(|chat| chat.title.as_deref()).unwrap_or(&session);
    let shown_branch = branch.or_else(|| chat.as_ref().map(|chat| chat.active.as_str()));
    let body = html! {
        main id="main" class="run" data-view="run" tabindex="-1" data-shown=(view)
            data-chat=[of_chat] data-branch=(shown_branch.unwrap_or_default())
            data-api=(links.api(&session, "")) data-steps=(links.chat(&session, "run"))
            data-version=(run.version) data-lines=(run.lines()) data-blocks=(blocks(&run, view))
            data-node=[step.as_ref().map(|step| step.step)]
            data-line=[step.as_ref().map(|step| step.line)]
            data-readonly=[operations.is_read_only().then_some("yes")] {
            (bar(&run, &place, step.as_ref().map(|step| step.step)))
            @if view == "provenance" {
                (provenance::provenance(&operations, &place, &selected).await.or_page(&links)?)
            } @else if run.lines() == 0 {
                (empty(&run, &session))
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
    let mut shell = Shell::new(&links, title, Tab::Run).session(&session);
    if let Some(chat) = of_chat {
        shell = shell.chat(chat, branch);
    }
    Ok(shell.page(&body))
}

/// A step in full, for the panel beside the list.
pub(crate) async fn step(
    State(operations): State<Operations>,
    links: Links,
    Path(session): Path<String>,
    Query(selected): Query<Selected>,
) -> Result<Markup, OperationError> {
    let run = operations.run(&session, None).await?;
    let step = find(&run, &selected).await?;
    let step = step.ok_or_else(|| OperationError::invalid("node", "a step has to be named"))?;
    let view = VIEWS.iter().find(|it| Some(it.0) == selected.view.as_deref());
    let branch = selected.branch.as_deref();
    let view = view.map_or("list", |(view, _)| *view);
    let (links, chat) = (&links, run.chat.as_deref());
    Ok(detail::detail(&step, &Place { links, session: &session, chat, branch, view }))
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
            @if run.chat.is_none() { span class="note" { (NO_CHAT) } }
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

fn empty(run: &Run, session: &str) -> Markup {
    html! {
        div class="empty" {
            @if run.origin == RunOrigin::TooLong {
                p { "This run is not recorded, and the chat is too long to make its steps from the messages while you wait. To record them once:" }
                pre { code { "context trajectory record " (quoted(session)) } }
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
