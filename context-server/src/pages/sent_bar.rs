//! The bar above a request: what fills the window.

use context_runtime::display::grouped;
use context_runtime::sent::RequestReport;
use maud::{Markup, html};

/// The width of the drawing in its own units.
const WIDTH: f64 = 1_000.0;

/// A part of the window.
struct Segment {
    class: &'static str,
    name: &'static str,
    tokens: u64,
}

/// Returns the window as a bar: the parts of the request, the interval of the estimate shaded, the
/// cached prefix hatched, and the reserve at its end. Each part is in the legend, too.
pub(crate) fn bar(report: &RequestReport) -> Markup {
    let parts = &report.breakdown;
    let segments = [
        ("system", "System", parts.system + parts.instructions),
        ("tools", "Tools", parts.tools),
        ("memory", "Memory", parts.recall),
        ("checkpoint", "Checkpoint", parts.checkpoint),
        ("history", "History", parts.history),
        ("framing", "Framing", parts.framing),
    ];
    let segments: Vec<Segment> = segments
        .into_iter()
        .map(|(class, name, count)| Segment { class, name, tokens: count.tokens() })
        .filter(|segment| segment.tokens > 0)
        .collect();
    let used = report.tokens.tokens();
    let whole = report.budget.window.max(used.saturating_add(report.budget.reserve)).max(1);
    let x = |tokens: u64| tokens as f64 / whole as f64 * WIDTH;
    let mut at = 0;
    let placed: Vec<_> = segments
        .iter()
        .map(|segment| {
            let start = at;
            at += segment.tokens;
            (segment, x(start), x(segment.tokens))
        })
        .collect();
    let (low, high) = (report.tokens.low(), report.tokens.high());
    let free = report.budget.input().saturating_sub(used);
    let say = |tokens: u64| format!("{:.1} %", tokens as f64 * 100.0 / whole as f64);
    html! {
        figure class="window" aria-label={ "The window: " (grouped(used)) " tokens used, "
            (grouped(free)) " free, "
            (grouped(report.budget.reserve)) " reserved" } {
            svg viewBox={ "0 0 " (WIDTH) " 40" } preserveAspectRatio="none" aria-hidden="true" {
                defs { pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse"
                    patternTransform="rotate(45)" { line x1="0" y1="0" x2="0" y2="6" class="hatch"
                        {} } }
                rect class="free" x="0" y="6" width=(WIDTH) height="28" {}
                @for (segment, start, width) in &placed {
                    rect class=(segment.class) x=(start) y="6" width=(width) height="28" {
                        title { (segment.name) ": " (grouped(segment.tokens)) " tokens" }
                    }
                }
                @if report.prefix.reused > 0 {
                    rect class="cached" x="0" y="6" width=(x(report.prefix.reused.min(used)))
                        height="28"
                        fill="url(#hatch)" {}
                }
                rect class="reserve" x=(WIDTH - x(report.budget.reserve)) y="6"
                    width=(x(report.budget.reserve)) height="28" {}
                @if high > low {
                    rect class="interval" x=(x(low)) y="2" width=(x(high.saturating_sub(low)))
                        height="36" {}
                }
                line class="limit" x1=(x(report.budget.input())) x2=(x(report.budget.input()))
                    y1="0" y2="40" {}
            }
            figcaption {
                @for segment in &segments {
                    span { i class={ "key " (segment.class) } {} (segment.name) " "
                        b { (grouped(segment.tokens)) } " · " (say(segment.tokens)) }
                }
                @if report.prefix.reused > 0 {
                    span { i class="key cached" {} "of these cached " b {
                        (grouped(report.prefix.reused)) } }
                }
                @if high > low { span { i class="key interval" {} "estimate " (grouped(low))
                    " to " (grouped(high)) } }
                span { i class="key free" {} "Free " b { (grouped(free)) } " · " (say(free)) }
                span { i class="key reserve" {} "Reserve for the answer " b {
                    (grouped(report.budget.reserve)) } }
            }
        }
    }
}
