//! Which data fed an answer, and which answers used a data.

use context_runtime::provenance::{AnswerPlace, DataLink, Occurrence, Quote, SourcePlace};
use context_runtime::{MessageId, Role};
use maud::{Markup, html};

use super::run::Place;
use super::shell::NO_CHAT;
use super::step;
use crate::api::run::Selected;
use crate::operations::ProvenanceView;
use crate::{OperationError, Operations};

/// Returns the provenance of the selected step or message, or of the newest answer.
pub(super) async fn provenance(
    operations: &Operations,
    place: &Place<'_>,
    selected: &Selected,
) -> Result<Markup, OperationError> {
    let message = selected.message.as_deref().map(MessageId::from);
    let step = selected.step()?;
    let found = operations.provenance(place.session, place.branch, message, step).await?;
    let chat = place.chat.unwrap_or(place.session);
    Ok(html! {
        div class="provenance steps" {
            @match &found.message {
                Some(message) => {
                    p class="of" {
                        (found.role) " · "
                        @let branch = Some(found.branch.as_str());
                        a href=(place.links.message(chat, branch, message.as_str())) {
                            bdi { (found.preview) }
                        }
                    }
                },
                None if found.step.is_none() && place.chat.is_none() => p class="empty" {
                    (NO_CHAT) " Select a step to see the data that was recorded for it."
                },
                None if found.step.is_none() => p class="empty" {
                    "This chat has no answer yet whose data could be followed."
                },
                None if place.chat.is_none() => {},
                None => p class="note" { "No message of this chat stands for the selected step." },
            }
            (recorded(&found, place))
            @if let Some(messages) = found.too_long {
                p class="note" {
                    "Values in the messages are not looked for: the branch has " (messages)
                        " messages."
                }
            } @else if found.message.is_some() {
                (sources(&found, place))
                (uses(&found, place))
                @if found.forgotten > 0 {
                    p class="note" { "The chat has more values than are kept: " (found.forgotten)
                        " that occurred once were forgotten." }
                }
            }
        }
    })
}

/// Returns the data edges that were recorded.
fn recorded(found: &ProvenanceView, place: &Place<'_>) -> Markup {
    let Some(step) = &found.step else { return html! {} };
    if step.read.is_empty() && step.read_by.is_empty() {
        return html! {
            p class="note" {
                "No data edges of this step were recorded."
                @if place.chat.is_some() { " What follows was found in the messages." }
            }
        };
    }
    html! {
        section {
            h2 { "Recorded" }
            (step::links("Read this data", &step.read, place))
            (step::links("Read by", &step.read_by, place))
        }
    }
}

fn sources(found: &ProvenanceView, place: &Place<'_>) -> Markup {
    html! {
        section {
            h2 { "Which data fed this " @if found.role == "assistant" { "answer" } @else {
                "message" } }
            @if found.sources.is_empty() {
                p class="note" { "No value of its text or its calls occurs in earlier messages." }
            }
            ol class="links" {
                @for link in &found.sources {
                    li {
                        (value(link))
                        div class="from" {
                            (occurrence(&link.first, place))
                            @if let Some(last) = &link.last {
                                span class="note" { "and last before the answer " }
                                (occurrence(last, place))
                            }
                        }
                    }
                }
            }
            (left_out(found.more_sources))
        }
    }
}

fn uses(found: &ProvenanceView, place: &Place<'_>) -> Markup {
    html! {
        section {
            h2 { "Which answers used its data" }
            @if found.uses.is_empty() {
                p class="note" { "No later answer has a value that was first seen here." }
            }
            ol class="links" {
                @for link in &found.uses {
                    li {
                        (value(link))
                        div class="from" {
                            @let address = place.message("provenance", link.answer.as_str());
                            a data-step=(link.answer) href=(address) {
                                "used by a later answer"
                            }
                            (quote(&link.first.quote))
                        }
                    }
                }
            }
            (left_out(found.more_uses))
            @if found.answers_left_out > 0 {
                p class="note" { (found.answers_left_out) " later answers were not looked at." }
            }
        }
    }
}

fn left_out(number: usize) -> Markup {
    html! { @if number > 0 { p class="note" { (number) " weaker ones are not shown." } } }
}

fn value(link: &DataLink) -> Markup {
    let percent = (link.strength * 100.0).round();
    html! {
        div class="value" {
            code { (context_runtime::display::preview(&link.value, 120)) }
            span class="note" {
                @match &link.place {
                    AnswerPlace::Argument { tool, pointer, .. } => {
                        "argument of " bdi { (tool) } " " bdi { (pointer) }
                    },
                    _ => "in the text",
                }
            }
            meter min="0" max="100" low="34" high="67" optimum="100" value=(percent)
                title={ "Strength " (percent) " of 100: the value is in " (link.messages)
                    " messages" } {
                (percent)
            }
        }
    }
}

fn occurrence(seen: &Occurrence, place: &Place<'_>) -> Markup {
    let of = html! {
        @match &seen.place {
            SourcePlace::ToolResult { tool, pointer, .. } => {
                "result of " bdi { (tool.as_deref().unwrap_or("a tool")) }
                @if let Some(pointer) = pointer { " " bdi { (pointer) } }
            },
            SourcePlace::ToolCall { tool, .. } => { "call of " bdi { (tool) } ", by the model" },
            SourcePlace::Data { name, .. } => { "data " bdi { (name) } },
            _ if seen.message.is_none() => "the system prompt",
            _ if seen.role == Role::Assistant => "written first by the model itself",
            _ => (seen.role.as_str()),
        }
    };
    html! {
        @match &seen.message {
            Some(message) => {
                @let chat = place.chat.unwrap_or(place.session);
                @let address = place.links.message(chat, place.branch, message.as_str());
                a data-step=(message) href=(address) { (of) }
            },
            None => span { (of) },
        }
        (quote(&seen.quote))
    }
}

fn quote(quote: &Quote) -> Markup {
    html! {
        q dir="auto" { (quote.before) mark { (quote.value) } (quote.after) }
    }
}
