//! Differences of two texts, line by line.

use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};

use super::code;

/// Texts longer than this together are not compared.
const LONGEST: usize = 4_000_000;
/// The unchanged lines around a change.
const AROUND: usize = 3;

/// Returns the lines that differ, with a few unchanged ones around them.
pub(crate) fn lines(before: &str, after: &str) -> Markup {
    if before.len() + after.len() > LONGEST {
        return html! { p class="note" { "Too long to compare here." } };
    }
    if before == after {
        return html! { p class="note" { "No difference." } };
    }
    let mut differences = TextDiff::configure();
    differences.timeout(std::time::Duration::from_millis(400));
    let differences = differences.diff_lines(before, after);
    html! {
        div class="diff" tabindex="0" role="group" aria-label="difference" {
            @for (number, group) in differences.grouped_ops(AROUND).iter().enumerate() {
                @if number > 0 { div class="gap" { "⋯" } }
                @for change in group.iter().flat_map(|part| differences.iter_changes(part)) {
                    @let (class, sign) = match change.tag() {
                        ChangeTag::Delete => ("del", "−"),
                        ChangeTag::Insert => ("ins", "+"),
                        ChangeTag::Equal => ("same", " "),
                    };
                    div class=(class) {
                        span class="sign" { (sign) }
                        span { (change.value().trim_end_matches('\n')) }
                    }
                }
            }
        }
    }
}

/// Returns the lines of two JSON texts that differ.
pub(crate) fn json(before: &str, after: &str) -> Markup {
    let indented = |text: &str| code::indented(text).unwrap_or_else(|| text.to_owned());
    lines(&indented(before), &indented(after))
}

/// Returns a patch that a program wrote, with its lines coloured.
pub(crate) fn patch(text: &str) -> Markup {
    html! {
        div class="diff" tabindex="0" role="group" aria-label="patch" {
            @for line in text.lines().take(2_000) {
                @let class = match line.as_bytes().first() {
                    Some(b'+') if !line.starts_with("+++") => "ins",
                    Some(b'-') if !line.starts_with("---") => "del",
                    Some(b'@' | b'*') => "gap",
                    _ => "same",
                };
                div class=(class) { span { (line) } }
            }
        }
    }
}
