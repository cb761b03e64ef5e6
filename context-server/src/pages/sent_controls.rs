//! The what-if: settings with which a request is planned anew.

use context_runtime::PROVIDERS;
use context_runtime::display::grouped;
use context_runtime::sent::RequestReport;
use context_runtime::tokens::ModelTable;
use maud::{Markup, html};

use crate::Operations;
use crate::links::Links;
use crate::operations::SentQuery;

/// Returns the settings as a form. Scripts send it at once when a field changes.
pub(crate) fn controls(
    query: &SentQuery,
    report: Option<&RequestReport>,
    links: &Links,
    chat: &str,
    read_only: bool,
) -> Markup {
    let (window, reserve) = report.map_or((None, None), |report| {
        (Some(grouped(report.budget.window)), Some(grouped(report.budget.reserve)))
    });
    let provider = query.provider.as_deref().unwrap_or("anthropic");
    let chosen: Option<Vec<&str>> =
        query.policies.as_deref().map(|names| names.split(',').map(str::trim).collect());
    let is_chosen = |name: &str| chosen.as_ref().is_none_or(|chosen| chosen.contains(&name));
    html! {
        form class="controls" method="get" action=(links.chat(chat, "sent")) data-do="what-if"
            aria-label="What if" {
            @if let Some(branch) = &query.branch { input type="hidden" name="branch"
                value=(branch); }
            @if let Some(message) = &query.message { input type="hidden" name="message"
                value=(message); }
            @if let Some(number) = query.number { input type="hidden" name="number"
                value=(number); }
            label { span { "Provider" } select name="provider" {
                @for name in PROVIDERS { option value=(name) selected[*name == provider] { (name)
                    } }
            } }
            label { span { "Model" } input name="model" list="models" value=[query.model.as_deref()]
                placeholder=(report.map_or("default", |report| &report.model)); }
            datalist id="models" {
                @for model in ModelTable::builtin().models() { option value=(model.name()) {} }
            }
            label { span { "Window" } input name="window" type="number" min="1" step="1"
                value=[query.window] placeholder=(window.as_deref().unwrap_or("of the model")); }
            label { span { "Reserve" } input name="reserve" type="number" min="1" step="1"
                value=[query.reserve] placeholder=(reserve.as_deref().unwrap_or("of the model")); }
            fieldset {
                legend { "Policies" }
                input type="hidden" name="policies"
                    value=(query.policies.as_deref().unwrap_or_default());
                @for name in Operations::compactable() {
                    label { input type="checkbox" data-policy=(name) checked[is_chosen(name)];
                        (name) }
                }
                label title="As if no compaction was ever stored with the chat" {
                    input type="checkbox" name="uncut" value="true" checked[query.uncut];
                        "never cut before"
                }
            }
            span class="buttons" {
                button { "Plan" }
                a href={ (links.chat(chat, "sent")) "?" (SentQuery {
                    branch: query.branch.clone(), message: query.message.clone(), number:
                        query.number,
                    ..SentQuery::default()
                }.encoded()) } { "Reset" }
                @if !read_only {
                    button type="button" data-do="compact"
                        title="Cut the history of this branch now, and store it" {
                        "Compact…"
                    }
                    button type="button" data-do="undo"
                        title="Take the newest stored compaction back" { "Undo" }
                }
            }
        }
    }
}
