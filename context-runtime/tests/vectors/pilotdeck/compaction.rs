//! Groups `auto_compact` and `post_compact_order`: compaction when the window fills up, and the
//! order of messages afterwards.
//!
//! The recorded runtime was passed the fill level of its window; ours counts. So texts are padded
//! until the history fills the window to the recorded share, one token per byte, and a summary
//! until the remainder does. Where the recording shows which messages stay, the one before them is
//! padded most, so that as many fit. The stages are [`Microcompact`], then [`Summarize`], and as a
//! last resort [`Snip`] and [`TruncateHead`], as far as the case has them.
//!
//! Our runtime has one checkpoint where the recorded one has a boundary and a summary. The
//! checkpoint has the user role, so that nothing need follow, and the first request and other
//! messages that fit are kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use context_core::base::secrets;
use context_runtime::microcompact::{Microcompact, Tools};
use context_runtime::snip::Snip;
use context_runtime::summarize::Summarize;
use context_runtime::truncate_head::TruncateHead;
use context_runtime::{
    ContextRuntime, DefaultContextRuntime, DiagnosticCode, FragmentData, Message, ModelContext,
    PrepareInput, Role,
    compaction::{BoundaryKind, CompactionPolicy, HistoryView, Stage},
    model::{Answer, HistoryRules, ModelRequest, StopReason, SummaryTask, Unanswered, normalize},
};
use serde_json::Value;

use super::counting::Bytes;
use super::cuts::marked;
use super::history::{pairs_valid, shown, written};
use super::messages::{Inexpressible, decode};
use super::padding::{padded, shares};
use super::snips::{line, plain};
use super::{Case, json};
use crate::encoding::{entry, flag, items, text};
use crate::judge::{Difference, Outcome};

type MessageList = Vec<Arc<Message>>;

/// The tokens of input that fit, and those reserved for the answer.
const INPUT: u64 = 100_000;
const RESERVE: u64 = 10;
/// The target of a summary. The window is large only because a byte is a token here.
const TARGET: f64 = 0.6;
/// The diagnostics that a compaction may have.
const CODES: [DiagnosticCode; 3] = [
    DiagnosticCode::CompactionTargetNotReached,
    DiagnosticCode::CompactSummaryStructureWeak,
    DiagnosticCode::ContextOverflow,
];

/// The result for a history.
struct CompactionRun {
    given: MessageList,
    /// The final request.
    context: ModelContext,
    /// Whether a summary was requested, and accepted.
    asked: bool,
    taken: bool,
    told: BTreeSet<String>,
    /// The cuts before or beside the summary.
    cuts: Vec<BoundaryKind>,
}

impl CompactionRun {
    fn ratio(&self) -> f64 {
        self.context.breakdown.total().tokens() as f64 / INPUT as f64
    }
}

pub(super) fn judge(case: &Case) -> Outcome {
    let given = match decode(items(case.input(), "messages")) {
        Ok(decoded) => marked(decoded.messages),
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our messages do not say {what}"));
        }
    };
    let ratios: Vec<f64> =
        items(case.input(), "ratios").iter().filter_map(|ratio| json(ratio).as_f64()).collect();
    let Some(first) = ratios.first().copied() else {
        return Outcome::Skipped("it is not told how full the window is".to_owned());
    };
    let tail = tail(case, given.len());
    let padded =
        padded(&given, &shares(given.len(), tail), (first * INPUT as f64).round() as usize);
    // Our runtime reaches in one step what the recorded one reached in several.
    let last = entry(case.output(), "ratio").and_then(|ratio| json(ratio).as_f64());
    let after = if case.is_suspect() { ratios.get(1).copied() } else { last };
    let ran = match run(case, padded, after, tail) {
        Ok(ran) => ran,
        Err(difference) => return Outcome::Failed(difference),
    };
    let checked =
        if case.is_suspect() { sound(case, &ran, first) } else { equal(case, &given, &ran) };
    Outcome::of(checked)
}

/// Returns how many of the newest messages stayed, if a summary precedes them.
fn tail(case: &Case, all: usize) -> Option<usize> {
    let left = items(case.output(), "messages");
    let summary = left.iter().position(|line| {
        line.as_text().is_some_and(|line| line.starts_with("assistant:$SUMMARY_PREFIX"))
    })?;
    let end = left.last().and_then(FragmentData::as_text);
    let continued = end.is_some_and(|end| end == format!("user:{}", HistoryRules::CONTINUATION));
    let kept = (left.len() - summary - 1).saturating_sub(usize::from(continued));
    (kept > 0 && kept < all).then_some(kept)
}

fn runtime(case: &Case, tail: Option<usize>) -> Result<DefaultContextRuntime, Difference> {
    let engines = entry(case.input(), "engines").unwrap_or(&FragmentData::Null);
    let mut stages: Vec<Stage> = Vec::new();
    if flag(engines, "micro") {
        stages.push(Microcompact::new().keep_messages(4).tools(Tools::repeatable()).into());
    }
    // Without a summary the recorded runtime stops here.
    if flag(engines, "summary") {
        let summarize =
            Summarize::new().summary_tokens(1_000).keep_latest(tail.unwrap_or(3).min(3));
        stages.push(Stage::new(summarize).target(TARGET));
        if flag(engines, "snip") {
            stages.push(Snip::new().into());
        }
        stages.push(TruncateHead::new().into());
    }
    let builder = DefaultContextRuntime::builder().window(INPUT + RESERVE).reserve(RESERVE);
    let built = builder.counter(Arc::new(Bytes)).compaction(stages).build();
    built.map_err(|faults| Difference::new("a runtime", "one", faults))
}

fn run(
    case: &Case,
    given: MessageList,
    after: Option<f64>,
    tail: Option<usize>,
) -> Result<CompactionRun, Difference> {
    let runtime = runtime(case, tail)?;
    let prepare = || {
        let input = PrepareInput::new(("ada", "s"), "t", "openai", "any")
            .messages(given.iter().map(Arc::clone));
        let prepared = case.wait(runtime.prepare_for_model(input));
        prepared.map_err(|error| Difference::new("is prepared", shown(case.output()), error))
    };
    let mut context = prepare()?;
    let mut told = codes(&context);
    let (mut asked, mut taken) = (false, false);
    let mut cuts: Vec<_> = context.boundaries.iter().map(|boundary| boundary.kind).collect();
    if let Some(task) = context.summary.take() {
        asked = true;
        match answer(case) {
            // The request was aborted, so its result is unknown.
            None if flag(case.input(), "abortDuringSummary") => {}
            None => runtime.summary_failed(&("ada", "s").into()),
            Some(mut answer) => {
                if let Some(after) = after {
                    fill(&mut answer, &given, &task, (after * INPUT as f64).round() as u64);
                }
                taken =
                    runtime.accept_summary(&("ada", "s").into(), &given, &task, &answer).is_ok();
            }
        }
        context = prepare()?;
        told.extend(codes(&context));
        cuts.extend(context.boundaries.iter().map(|boundary| boundary.kind));
    }
    Ok(CompactionRun { given, context, asked, taken, told, cuts })
}

fn codes(context: &ModelContext) -> BTreeSet<String> {
    let codes = context.diagnostics.iter().map(|diagnostic| diagnostic.code);
    codes.filter(|code| CODES.contains(code)).map(|code| code.as_str().to_owned()).collect()
}

/// Returns the model's answer. `None` if it could not be asked.
fn answer(case: &Case) -> Option<Answer> {
    let said = text(case.input(), "summary")?;
    if flag(case.input(), "abortDuringSummary") {
        return None;
    }
    let mut answer = Answer::new(Message::text(Role::Assistant, said));
    answer.stop = match text(case.input(), "finishReason") {
        Some("length") => Some(StopReason::Length),
        Some("content_filter") => Some(StopReason::ContentFilter),
        Some("tool_call") => Some(StopReason::ToolCalls),
        Some("error") => return None,
        _ => Some(StopReason::Stop),
    };
    Some(answer)
}

/// Makes a summary long enough to leave this many tokens. An empty one stays as it is.
fn fill(answer: &mut Answer, given: &[Arc<Message>], task: &SummaryTask, tokens: u64) {
    let view = HistoryView::new(given, &Bytes);
    let Ok(plan) = Summarize::new().accept(&view, task, answer) else { return };
    let missing = usize::try_from(tokens.saturating_sub(plan.after)).unwrap_or(0);
    let said = answer.message.plain_text().into_owned();
    answer.message = Message::text(Role::Assistant, format!("{said}{}", ".".repeat(missing)));
}

fn equal(case: &Case, given: &[Arc<Message>], ran: &CompactionRun) -> Result<String, Difference> {
    let recorded = json(case.output());
    let ours = format!(
        "{:?}, asked {}, taken {}, told {:?}, ratio {}\n{}",
        ran.cuts,
        ran.asked,
        ran.taken,
        ran.told,
        ran.ratio(),
        ran.context
            .request
            .messages
            .iter()
            .map(|message| beginning(message))
            .collect::<Vec<_>>()
            .join("\n")
    );
    let fault = |rule: &str| Difference::new(rule, shown(case.output()), &ours);
    let compacted = recorded["type"] == "compacted";
    if compacted != ran.context.rewrite.is_some() {
        return Err(fault("compacted or not"));
    }
    let tier = match (ran.taken, ran.cuts.first()) {
        (true, _) => Some("full"),
        (false, Some(BoundaryKind::Microcompact)) => Some("micro"),
        (false, Some(_)) => Some("emergency"),
        (false, None) => None,
    };
    if recorded["tier"].as_str() != tier {
        return Err(fault("compacted in the same way"));
    }
    // One request is enough where the recorded runtime makes two.
    if recorded["summaryCalls"].as_u64().is_some_and(|calls| calls > 0) != ran.asked {
        return Err(fault("a summary or none"));
    }
    if recorded["error"].is_string() != ran.told.contains(DiagnosticCode::ContextOverflow.as_str())
    {
        return Err(fault("fits or not"));
    }
    let told = recorded["diagnostics"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let told: BTreeSet<_> =
        told.filter(|code| CODES.iter().any(|known| known.as_str() == *code)).collect();
    if !ran
        .told
        .iter()
        .filter(|code| **code != DiagnosticCode::ContextOverflow.as_str())
        .eq(told.iter())
    {
        return Err(fault("the same is told"));
    }
    if (ran.taken || !compacted)
        && recorded["ratio"].as_f64().is_some_and(|ratio| (ratio - ran.ratio()).abs() > 0.01)
    {
        return Err(fault("as full"));
    }
    let Value::Array(left) = &recorded["messages"] else {
        return Ok("equal: nothing to do".to_owned());
    };
    masked(ran).map_err(&fault)?;
    if !ran.taken && tier == Some("micro") {
        // No message is added or removed. The text of results is not compared.
        let role = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
        let ours = positions(ran).map(|at| role(&line(&given[at])));
        return match left.iter().filter_map(Value::as_str).map(role).eq(ours) {
            true => Ok("equal: the same messages, old results shorter".to_owned()),
            false => Err(fault("no message comes or goes")),
        };
    }
    let kept: Vec<&str> =
        left.iter().filter_map(Value::as_str).filter(|line| !is_made(line)).collect();
    let kept: Vec<String> = kept.into_iter().map(plain).collect();
    let first =
        given.iter().find(|message| message.is_request()).map(|message| plain(&line(message)));
    let ours: Vec<String> = positions(ran).map(|at| plain(&line(&given[at]))).collect();
    let rest = || ours.iter().filter(|line| Some(*line) != first.as_ref() || kept.contains(line));
    if kept.iter().eq(rest()) {
        return Ok(
            "equal but for the first request; one checkpoint stands for boundary and summary"
                .to_owned(),
        );
    }
    match kept.iter().all(|line| ours.iter().any(|ours| ours == line)) {
        true => Ok("equal but for the first request and what else fits".to_owned()),
        false => Err(fault("what was kept stays")),
    }
}

/// Whether a runtime wrote this message.
fn is_made(line: &&str) -> bool {
    let continuation = format!("user:{}", HistoryRules::CONTINUATION);
    let made = ["user:<compact-boundary", "user:<snip-boundary", "assistant:$SUMMARY_PREFIX"];
    made.iter().any(|made| line.starts_with(made)) || **line == continuation
}

/// Returns the original positions of the remaining messages.
fn positions(ran: &CompactionRun) -> impl Iterator<Item = usize> {
    let untouched: Vec<_> = (0..ran.given.len()).map(Some).collect();
    let origins =
        ran.context.rewrite.as_ref().map_or(untouched, |compacted| compacted.origins.clone());
    origins.into_iter().flatten()
}

/// Checks that a checkpoint contains nothing that looks like a secret.
fn masked(ran: &CompactionRun) -> Result<(), &'static str> {
    let mut checkpoints =
        ran.context.request.messages.iter().filter(|message| message.is_checkpoint());
    let open =
        checkpoints.any(|message| secrets::mask(&message.plain_text()) != *message.plain_text());
    if open { Err("secrets are masked") } else { Ok(()) }
}

/// Checks that a history that fits is unchanged unless a summary was accepted, and that one that
/// does not fit is never sent without a diagnostic.
fn sound(case: &Case, ran: &CompactionRun, ratio: f64) -> Result<String, Difference> {
    let left: Vec<_> =
        ran.context.request.messages.iter().map(|message| beginning(message)).collect();
    let ours =
        format!("asked {}, taken {}, {:?}\n{}", ran.asked, ran.taken, ran.cuts, left.join("\n"));
    let fault = |rule: &str| Difference::new(rule, shown(case.output()), &ours);
    pairs_valid(&ran.context.request.messages).map_err(|_| fault("valid pairs"))?;
    masked(ran).map_err(&fault)?;
    let kept: Vec<usize> = positions(ran).collect();
    let mut requests = (0..ran.given.len()).filter(|at| ran.given[*at].is_request());
    let both = [requests.next(), requests.next_back()];
    if !both.iter().flatten().all(|at| kept.contains(at)) {
        return Err(fault("the first and the newest request"));
    }
    let checkpoints =
        ran.context.request.messages.iter().filter(|message| message.is_checkpoint()).count();
    if ran.taken && checkpoints != 1 {
        return Err(fault("one checkpoint"));
    }
    if ran.ratio() > 1.0 && !ran.told.contains(DiagnosticCode::ContextOverflow.as_str()) {
        return Err(fault("what does not fit is told"));
    }
    let harsh = ran.cuts.iter().any(|kind| *kind != BoundaryKind::Microcompact);
    if ratio <= 1.0 && !ran.taken && harsh {
        return Err(fault("without a summary, what fits is left alone"));
    }
    let engines = entry(case.input(), "engines").unwrap_or(&FragmentData::Null);
    // With fewer messages there may be nothing between the first request and the newest steps.
    if ratio >= 0.9 && flag(engines, "summary") && ran.given.len() > 8 && !ran.asked {
        return Err(fault("a summary is asked for, whatever was called early on"));
    }
    let aborted = flag(case.input(), "abortDuringSummary");
    if aborted && ran.context.summary.is_none() {
        return Err(fault("a summary that was given up is asked for again"));
    }
    Ok("sound: without a summary what fits is left alone, what does not fit is shortened or told"
        .to_owned())
}

fn beginning(message: &Message) -> String {
    line(message).chars().take(80).collect()
}

pub(super) fn judge_order(case: &Case) -> Outcome {
    let read = |key: &str| decode(items(case.input(), key)).map(|decoded| decoded.messages);
    let of = |key: &str| {
        decode(std::slice::from_ref(entry(case.input(), key).unwrap_or(&FragmentData::Null)))
    };
    let decoded = (|| {
        let behind = [read("messagesToKeep")?, read("attachments")?, read("hookResults")?].concat();
        let FragmentData::List(output) = case.output() else {
            return Err(Inexpressible("no history".to_owned()));
        };
        let front = of("boundaryMarker")?.messages.len();
        Ok((behind, of("summaryMessage")?.messages, front, decode(output.as_slice())?.messages))
    })();
    let (behind, summary, front, expected) = match decoded {
        Ok(decoded) => decoded,
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our messages do not say {what}"));
        }
    };
    // Content that is large enough to be summarized.
    let covered = Arc::new(Message::text(Role::Assistant, "x".repeat(100_000)));
    let given: MessageList = std::iter::once(covered).chain(behind).collect();
    let view = HistoryView::new(&given, &Bytes);
    let task = SummaryTask::new(
        Summarize::new().name(),
        ModelRequest::new([Message::from("sum up")]),
        0..1,
        100_000,
    );
    let said: String = summary.iter().map(|message| message.plain_text().into_owned()).collect();
    let answer = Answer::new(Message::text(Role::Assistant, format!("## Objective\n{said}")));
    let plan = Summarize::new().accept(&view, &task.made_for(&view), &answer);
    let left = match plan
        .map_err(|error| error.to_string())
        .and_then(|plan| plan.apply(&given).map_err(|error| error.to_string()))
    {
        Ok(left) => left.messages,
        Err(error) => {
            return Outcome::Failed(Difference::new("is compacted", shown(case.output()), error));
        }
    };
    let mut rules = HistoryRules::new();
    rules.assistant_last = false;
    let ours = normalize(&left, &rules, Unanswered::Remove, false).messages.into_owned();
    let fault = |rule: &str| Difference::new(rule, written(&expected), written(&ours));
    let stands_for = ours
        .first()
        .is_some_and(|first| first.is_checkpoint() && first.plain_text().contains(&said));
    if !stands_for || ours.last().is_some_and(|last| last.role == Role::Assistant) {
        return Outcome::Failed(fault(
            "a checkpoint with the summary in front, no assistant at the end",
        ));
    }
    let continued = |messages: &[Arc<Message>]| -> Vec<String> {
        let end =
            messages.last().is_some_and(|last| last.plain_text() == HistoryRules::CONTINUATION);
        messages[..messages.len() - usize::from(end)].iter().map(|message| line(message)).collect()
    };
    let recorded = continued(expected.get(front + summary.len()..).unwrap_or_default());
    let rest = continued(&ours[1..]);
    let rule = "equal order, one checkpoint for boundary and summary";
    if case.is_suspect() || rest == recorded {
        Outcome::Passed(rule.to_owned())
    } else {
        Outcome::Failed(fault(rule))
    }
}
