//! Compaction for people: policies by name, plans in words, and the outcome for each message.

use std::fmt::Write as _;
use std::sync::Arc;

use context_runtime::tokens::{Budget, Estimate, Model};
use context_runtime::{
    Message, MessageId, Messages, PlanReport,
    compaction::{
        CompactionPolicy, Goal, HistoryView, POLICIES, Pipeline, Planned, Stage, USER_WORDS, policy,
    },
    model::{ModelRequest, TokenCounter},
};

use crate::error::Failure;
use crate::text::{clean, grouped, short_id};

/// The name that stands for no policy.
const NONE: &str = "none";

/// Returns a pipeline of the named policies, or of all policies if none is named.
pub(super) fn pipeline(
    names: &[String],
    stage: impl Fn(Arc<dyn CompactionPolicy>) -> Stage,
) -> Result<Pipeline, Failure> {
    let names: Vec<&str> = match names {
        [] => POLICIES.to_vec(),
        [only] if only == NONE => Vec::new(),
        names => names.iter().map(String::as_str).collect(),
    };
    let stages = names.into_iter().map(|name| match policy(name) {
        Some(policy) => Ok(stage(policy)),
        None if name == "summarize" => Err(Failure::Usage(
            "summarize needs a model to write the summary, which this command does not have"
                .to_owned(),
        )),
        None => Err(Failure::Usage(format!(
            "there is no policy {name:?}; known policies: {}",
            POLICIES.join(", ")
        ))),
    });
    let stages = stages.collect::<Result<Vec<_>, _>>()?;
    Pipeline::new(stages).map_err(|faults| Failure::Usage(faults.to_string()))
}

/// Describes a plan, for example
/// `9 results, −61,400 tokens, breaks 18,200 cached tokens; pays off after 1 call`.
pub(super) fn line(report: &PlanReport) -> String {
    let saved = report.before.saturating_sub(report.after);
    let mut line = format!("{}, −{} tokens", clean(&report.description), grouped(saved));
    if report.price.reread > 0 {
        let after = match report.price.pays_off_after() {
            None => "never pays off".to_owned(),
            Some(1) => "pays off after 1 call".to_owned(),
            Some(calls) => format!("pays off after {calls} calls"),
        };
        line.push_str(&format!(", breaks {} cached tokens; {after}", grouped(report.price.reread)));
    }
    if !report.applied {
        line.push_str(&format!(" (not carried out: {})", report.reason));
    }
    line
}

/// The changes to the messages of a request that make it fit.
pub(super) struct Cut {
    planned: Planned,
    before: Messages,
}

impl Cut {
    /// Cuts a request as far as its window requires. Without a window nothing is cut.
    pub(super) fn make(
        request: &mut ModelRequest,
        pipeline: &Pipeline,
        estimate: &Estimate,
        model: &Model<'_>,
    ) -> Self {
        let before = request.messages.clone();
        let planned = match estimate.budget {
            None => Planned::default(),
            Some(budget) => plan(request, pipeline, estimate, budget, model),
        };
        if let Some(rewrite) = &planned.rewrite {
            request.messages.clone_from(&rewrite.messages);
        }
        Self { planned, before }
    }

    /// Returns all plans, including those that were not carried out.
    pub(super) fn reports(&self) -> Vec<PlanReport> {
        self.planned.steps.iter().map(|step| step.report()).collect()
    }

    /// Returns the ids of the messages to send. A message that a plan created has no id of its own.
    pub(super) fn ids(&self, ids: Vec<MessageId>) -> Vec<MessageId> {
        let Some(rewrite) = &self.planned.rewrite else { return ids };
        let id = |(at, origin): (usize, &Option<usize>)| match origin
            .and_then(|origin| ids.get(origin))
        {
            Some(id) => id.clone(),
            None => MessageId::from(format!("messages[{at}]")),
        };
        rewrite.origins.iter().enumerate().map(id).collect()
    }

    /// Describes the plans, one per line.
    pub(super) fn lines(&self) -> String {
        let reports = self.reports();
        let width = reports.iter().map(|report| report.policy.len()).max().unwrap_or(0);
        let mut text = String::new();
        for report in &reports {
            let _ = writeln!(text, "  {:width$}   {}", report.policy, line(report));
        }
        text
    }

    /// Describes the outcome for each message. Consecutive unchanged messages share a line.
    pub(super) fn explained(&self, ids: &[MessageId], counter: &dyn TokenCounter) -> String {
        let mut text = String::new();
        let count = |message: &Arc<Message>| grouped(counter.count_shared(message).tokens());
        let name = |at: usize| {
            ids.get(at).map_or_else(|| format!("{at}"), |id| clean(&short_id(id)).into_owned())
        };
        let untouched =
            (0..self.before.len()).map(|at| (Some(at), &self.before[at])).collect::<Vec<_>>();
        let after: Vec<(Option<usize>, &Arc<Message>)> = match &self.planned.rewrite {
            None => untouched,
            Some(rewrite) => rewrite.origins.iter().copied().zip(&rewrite.messages).collect(),
        };
        let mut next = 0;
        let mut kept: Option<(usize, usize)> = None;
        let flush = |kept: &mut Option<(usize, usize)>, text: &mut String| {
            if let Some((first, last)) = kept.take() {
                let tokens: u64 = self.before[first..=last]
                    .iter()
                    .map(|message| counter.count_shared(message).tokens())
                    .sum();
                let which = if first == last {
                    name(first)
                } else {
                    format!("{} to {}", name(first), name(last))
                };
                let _ = writeln!(text, "    {:>9}  kept       {which}", grouped(tokens));
            }
        };
        for (origin, message) in after {
            let Some(at) = origin else {
                flush(&mut kept, &mut text);
                let _ = writeln!(
                    text,
                    "    {:>9}  added      {}",
                    count(message),
                    clean(&message.plain_text())
                );
                continue;
            };
            if next < at {
                flush(&mut kept, &mut text);
            }
            for gone in next..at {
                let (tokens, role) = (count(&self.before[gone]), self.before[gone].role);
                let _ = writeln!(text, "    {tokens:>9}  left out   {} ({role})", name(gone));
            }
            next = at + 1;
            if Arc::ptr_eq(message, &self.before[at]) {
                kept = Some((kept.map_or(at, |(first, _)| first), at));
                continue;
            }
            flush(&mut kept, &mut text);
            let (was, is, role) = (count(&self.before[at]), count(message), message.role);
            let _ = writeln!(text, "    {is:>9}  shortened  {} ({role}) from {was}", name(at));
        }
        flush(&mut kept, &mut text);
        for gone in next..self.before.len() {
            let (tokens, role) = (count(&self.before[gone]), self.before[gone].role);
            let _ = writeln!(text, "    {tokens:>9}  left out   {} ({role})", name(gone));
        }
        text
    }
}

fn plan(
    request: &ModelRequest,
    pipeline: &Pipeline,
    estimate: &Estimate,
    budget: Budget,
    model: &Model<'_>,
) -> Planned {
    let counter = model.counter();
    let view = HistoryView::new(&request.messages, &counter);
    let outside = estimate.total.tokens().saturating_sub(view.total());
    // Each stage has its own target. No lower target is requested here.
    let goal = Goal::new(budget, outside, budget.input());
    // The user's own words are kept as a runtime does by default.
    let words = (goal.limit() as f64 * USER_WORDS) as u64;
    pipeline.run(&view.user_words(words), &goal)
}
