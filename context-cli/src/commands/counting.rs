//! Token counts for people: the table of a request, and paths that name messages by id.

use std::fmt::Write as _;
use std::sync::Arc;

use context_runtime::tokens::{
    Budget, BudgetError, Estimate, Model, ModelTable, TokenCount, WindowSource,
};
use context_runtime::{
    Breakdown, Diagnostic, DiagnosticCode, MessageId, Role, Severity,
    model::{ModelRequest, TokenCounter},
};

use crate::error::Failure;
use crate::near_names::near;
use crate::text::grouped;

/// Returns a note about a model that is not in the table, if it is not: what is not known of it.
pub(super) fn unlisted(model: &Model<'_>, window: Option<u64>) -> Option<String> {
    let is_known = window.or(model.window()).is_some();
    let unknown = if is_known { "its prices are" } else { "its window and prices are" };
    let name = model.name();
    (!model.is_listed()).then(|| {
        let names: Vec<_> = ModelTable::builtin().models().map(|model| model.name()).collect();
        let near = near(name, names).join(" or ");
        let meant = if near.is_empty() { near } else { format!("; did you mean {near}?") };
        format!("{name} is not in the table of models: {unknown} unknown{meant}")
    })
}

/// The window and the reserve for every request of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    budget: Budget,
    source: WindowSource,
    /// Whether the reserve was given on the command line.
    is_asked: bool,
}

impl Limits {
    /// Returns the limits of a model, overridden by the command line. Fails with a usage error for
    /// an unknown window and for a reserve that leaves no room.
    pub(super) fn new(
        model: &Model<'_>,
        window: Option<u64>,
        reserve: Option<u64>,
    ) -> Result<Self, Failure> {
        let budget = model.budget(window, reserve).map_err(|error| {
            Failure::Usage(match error {
                BudgetError::UnknownWindow => {
                    format!(
                        "the window of {} is not known: give it with --window TOKENS",
                        model.name()
                    )
                }
                error => format!("{error}: give a smaller --reserve or a larger --window"),
            })
        })?;
        let source =
            model.window_source().filter(|_| window.is_none()).unwrap_or(WindowSource::Given);
        Ok(Self { budget, source, is_asked: reserve.is_some() })
    }

    /// Returns a warning about an assumed window, if there is one.
    pub(super) fn note(&self, model: &Model<'_>) -> Option<String> {
        (self.source == WindowSource::Family).then(|| {
            let (name, window) = (model.name(), grouped(self.budget.window));
            format!(
                "the window of {name} is not known: {window} tokens are assumed, the smallest known of its family; --window sets another"
            )
        })
    }

    pub(super) fn source(&self) -> WindowSource {
        self.source
    }

    pub(super) fn budget(&self) -> Budget {
        self.budget
    }

    /// Sets the answer limit of a request, and returns its window and reserve. A request that asks
    /// for fewer answer tokens keeps its number. For a request that asks for more, a diagnostic is
    /// returned.
    pub(super) fn apply(&self, request: &mut ModelRequest) -> (Budget, Option<Diagnostic>) {
        let own = request.max_output_tokens.filter(|_| !self.is_asked);
        let reserve = own.map_or(self.budget.reserve, |own| own.clamp(1, self.budget.reserve));
        request.max_output_tokens = Some(reserve);
        let lowered = own.filter(|own| *own > reserve).map(|own| {
            let (own, kept) = (grouped(own), grouped(reserve));
            let message = format!(
                "the request allows {own} tokens of answer; {kept} are reserved, --reserve sets another number"
            );
            let (code, severity) = (DiagnosticCode::OverLimit, Severity::Warning);
            Diagnostic::new(code, severity, "max_output_tokens", message)
        });
        (Budget::new(self.budget.window, reserve), lowered)
    }

    /// Returns the tokens of a request and the rest of its budget.
    pub(super) fn estimate(
        &self,
        request: &ModelRequest,
        budget: Budget,
        model: &Model<'_>,
    ) -> Estimate {
        let mut estimate = Estimate::new(request, &model.counter(), model).with_budget(budget);
        estimate.window_source = Some(self.source);
        estimate
    }
}

/// Returns the failure if a request does not fit its window.
pub(super) fn overflow(name: &str, tokens: u64, budget: Budget) -> Option<Failure> {
    let missing = tokens.checked_sub(budget.input()).filter(|missing| *missing > 0)?;
    Some(Failure::Overflow { subject: name.to_owned(), tokens, missing, budget })
}

/// Returns the tokens of the parts of a request, in order.
pub(super) fn breakdown(
    request: &ModelRequest,
    estimate: &Estimate,
    model: &Model<'_>,
) -> Breakdown {
    let behind = request.messages.iter().skip_while(|message| message.role == Role::System);
    let checkpoints: Vec<_> =
        behind.take_while(|message| message.is_checkpoint()).cloned().collect();
    let counter = model.counter();
    let parts = &estimate.request;
    let mut breakdown = Breakdown::default();
    breakdown.system = parts.system;
    breakdown.tools = parts.tools + parts.output;
    breakdown.checkpoint = counter.count_messages(&checkpoints);
    let history = request
        .messages
        .iter()
        .filter(|message| !checkpoints.iter().any(|made| Arc::ptr_eq(made, message)));
    breakdown.history = history.map(|message| counter.count_shared(message)).sum();
    breakdown.framing = parts.framing;
    breakdown
}

/// Returns the table of an estimate: the tokens of each part, and the room left.
pub(super) fn table(estimate: &Estimate, breakdown: &Breakdown, messages: usize) -> String {
    let mut text = String::new();
    let mut row = |name: &str, count: TokenCount, note: &str| {
        if count.high() > 0 {
            let line = format!("  {name:<10}{:>12}  {note}", grouped(count.tokens()));
            let _ = writeln!(text, "{}", line.trim_end());
        }
    };
    for fragment in &estimate.fragments {
        row(&fragment.name, fragment.tokens, "in the system prompt");
    }
    let form = estimate.request.output.high() > 0;
    row("system", breakdown.system, "");
    row("tools", breakdown.tools, if form { "and the form of the answer" } else { "" });
    row("checkpoint", breakdown.checkpoint, "stands for earlier messages");
    let plural = if messages == 1 { "" } else { "s" };
    row("history", breakdown.history, &format!("{messages} message{plural}"));
    row("framing", breakdown.framing, "");
    let Estimate { total, budget, .. } = estimate;
    if let Some(budget) = budget.filter(|budget| budget.reserve > 0) {
        row("reserve", TokenCount::exact(budget.reserve), "reserved for the answer");
    }
    let _ = write!(text, "  {:<10}{:>12}", "total", grouped(total.tokens()));
    if let Some(budget) = budget {
        let _ = write!(text, " of {} that fit", grouped(budget.input()));
    }
    if !total.is_exact() {
        let _ = write!(text, ", estimated: {} to {}", grouped(total.low()), grouped(total.high()));
    }
    match &estimate.input_cost {
        Some(cost) => {
            let _ = write!(text, "\n  {:<10}{:>12.4} {}", "input", cost.amount, cost.currency);
            let _ = write!(text, ", nothing cached, prices of {}", estimate.prices_as_of);
        }
        None => {
            let _ = write!(text, "\n  {:<10}{:>12}  its price is unknown", "input", "?");
        }
    }
    match estimate.fits() {
        _ if estimate.missing() > 0 => {
            let missing = grouped(estimate.missing());
            let _ = write!(text, "\n  it does not fit the window: {missing} tokens too many");
        }
        None if budget.is_some() => text.push_str("\n  it may not fit the window"),
        _ => {}
    }
    text
}

/// Replaces message positions in diagnostics by message ids.
pub(super) fn by_id(diagnostics: Vec<Diagnostic>, ids: &[MessageId]) -> Vec<Diagnostic> {
    let named = |path: &str| {
        let (position, rest) = path.strip_prefix("messages[")?.split_once(']')?;
        Some(format!("{}{rest}", ids.get(position.parse::<usize>().ok()?)?))
    };
    let renamed = diagnostics.into_iter().map(|mut diagnostic| {
        if let Some(path) = named(&diagnostic.path) {
            diagnostic.path = path;
        }
        diagnostic
    });
    renamed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_messages_by_id_where_there_is_one() {
        let at = |path: &str| Diagnostic::new(DiagnosticCode::OverLimit, Severity::Info, path, "x");
        let ids = [MessageId::from("m1"), MessageId::from("m2")];
        let paths = ["messages[1].parts[0]", "messages[2]", "tools[0]", "messages[x]"];
        let reported: Vec<_> =
            by_id(paths.map(at).to_vec(), &ids).into_iter().map(|message| message.path).collect();
        assert_eq!(reported, ["m2.parts[0]", "messages[2]", "tools[0]", "messages[x]"]);
    }
}
