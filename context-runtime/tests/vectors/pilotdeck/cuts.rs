//! Groups of cuts: truncated heads, stripped media, removed failed answers.
//!
//! The recorded functions count messages, so our policy is given a share of messages and adds no
//! gap notes. Our policy leaves the order of roles to the repair before sending, so a truncated
//! history is compared after that repair. The notes in place of media are ours.

use context_runtime::Origin;
use std::sync::Arc;

use context_runtime::strip_images::{Marker, StripImages};
use context_runtime::truncate_head::{Measure, TruncateHead, newest};
use context_runtime::{
    FragmentData, Message, Part, Role,
    compaction::{HistoryView, Proposal},
    model::{HistoryRules, Unanswered, normalize},
    without_failed_answer,
};

use super::counting::Bytes;
use super::history::{pairs_valid, written};
use super::messages::{Inexpressible, Reader};
use super::{Case, json};
use crate::encoding::{entry, items, text};
use crate::judge::{Difference, Outcome};

/// The symbol of the note in place of an image.
const IMAGE_REMOVED: &str = "$IMAGE_REMOVED";

type MessageList = Vec<Arc<Message>>;
type Checked = Result<String, &'static str>;

pub(super) fn judge_newest(case: &Case) -> Outcome {
    let ratio = ratio(case);
    compare(
        case,
        |given| newest(given, ratio).to_vec(),
        |given, _| {
            let left = sent(&truncated(given, ratio));
            pairs_valid(&left).map_err(|_| "valid pairs")?;
            requests_stay(given, &left)
        },
    )
}

pub(super) fn judge_truncated(case: &Case) -> Outcome {
    let ratio = ratio(case);
    compare(
        case,
        |given| sent(&truncated(given, ratio)),
        |given, ours| {
            pairs_valid(ours).map_err(|_| "valid pairs")?;
            let last = ours.last().is_none_or(|last| last.role != Role::Assistant);
            if last { requests_stay(given, ours) } else { Err("no assistant last") }
        },
    )
}

pub(super) fn judge_stripped(case: &Case, marker: Marker) -> Outcome {
    let strip = |given: &[Arc<Message>]| {
        let policy = StripImages::new().marker(marker);
        applied(given, policy.all(&HistoryView::new(given, &Bytes)))
    };
    compare(case, strip, |given, ours| {
        let kept = given.len() == ours.len();
        let bare = StripImages::new().all(&HistoryView::new(ours, &Bytes)).into_plan().is_none();
        if kept && bare {
            Ok("sound: every message stays, no media do".to_owned())
        } else {
            Err("no media")
        }
    })
}

pub(super) fn judge_failed_answer(case: &Case) -> Outcome {
    compare(
        case,
        |given| without_failed_answer(given).to_vec(),
        |given, ours| {
            let gone = &given[ours.len()..];
            let is_answer = |(at, message): (usize, &Arc<Message>)| {
                message.role == if at == 0 { Role::Assistant } else { Role::Tool }
            };
            let sound = given.starts_with(ours) && gone.iter().enumerate().all(is_answer);
            if sound {
                Ok("sound: nothing but a last answer goes".to_owned())
            } else {
                Err("only an answer goes")
            }
        },
    )
}

fn compare(
    case: &Case,
    ours: impl Fn(&[Arc<Message>]) -> MessageList,
    sound: impl Fn(&[Arc<Message>], &[Arc<Message>]) -> Checked,
) -> Outcome {
    let FragmentData::List(expected) = case.output() else {
        return Outcome::Skipped("no history came of it".to_owned());
    };
    // Only the groups that strip media need media references.
    let references = text(&case.data, "group").is_some_and(|group| group.starts_with("strip_"));
    let reader = Reader { by_tag: true, references };
    let decoded = reader
        .decode(items(case.input(), "messages"))
        .and_then(|given| Ok((given.messages, reader.decode(expected.as_slice())?.messages)));
    let (given, expected) = match decoded {
        Ok((given, expected)) => (marked(given), expected),
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our messages do not say {what}"));
        }
    };
    let ours = ours(&given);
    let checked = match case.is_suspect() {
        true => sound(&given, &ours),
        false if parts(&ours) == parts(&expected) => Ok("equal".to_owned()),
        false => Err("equal"),
    };
    Outcome::of(checked.map_err(|rule| Difference::new(rule, written(&expected), written(&ours))))
}

fn ratio(case: &Case) -> f64 {
    // NaN is recorded as null or as a word.
    entry(case.input(), "keepRatio").and_then(|ratio| json(ratio).as_f64()).unwrap_or(f64::NAN)
}

/// Marks leading boundaries and summaries as checkpoints.
pub(super) fn marked(messages: MessageList) -> MessageList {
    let stands_for = |message: &Arc<Message>| {
        let text = message.plain_text();
        text.starts_with("<compact-boundary") || text.starts_with("$SUMMARY_PREFIX")
    };
    let front = messages.iter().take_while(|message| stands_for(message)).count();
    let mark = |(at, message): (usize, Arc<Message>)| match at < front {
        true => Arc::new(Message::clone(&message).with_origin(Origin::Checkpoint)),
        false => message,
    };
    messages.into_iter().enumerate().map(mark).collect()
}

fn truncated(given: &[Arc<Message>], ratio: f64) -> MessageList {
    let policy = TruncateHead::new().measure(Measure::Messages).gaps(false);
    applied(given, policy.keep(&HistoryView::new(given, &Bytes), ratio))
}

pub(super) fn applied(given: &[Arc<Message>], proposal: Proposal) -> MessageList {
    let left = proposal.into_plan().and_then(|plan| plan.apply(given).ok());
    left.map_or_else(|| given.to_vec(), |left| left.messages.to_vec())
}

/// Returns the history as it is sent to a provider where the assistant may not come last.
fn sent(messages: &[Arc<Message>]) -> MessageList {
    let mut rules = HistoryRules::new();
    rules.assistant_last = false;
    normalize(messages, &rules, Unanswered::Remove, false).messages.into_owned()
}

fn requests_stay(given: &[Arc<Message>], ours: &[Arc<Message>]) -> Checked {
    let requests = || given.iter().filter(|message| message.is_request());
    let both = [requests().next(), requests().next_back()];
    match both.into_iter().flatten().all(|request| ours.contains(request)) {
        true => Ok("sound: first and newest request stay, pairs and end valid".to_owned()),
        false => Err("the first and the newest request"),
    }
}

/// Returns roles and parts, with one name for every note in place of an image.
fn parts(messages: &[Arc<Message>]) -> Vec<(Role, Vec<Part>)> {
    let parts = |message: &Arc<Message>| (message.role, message.parts.iter().map(named).collect());
    messages.iter().map(parts).collect()
}

fn named(part: &Part) -> Part {
    match part {
        Part::Text(text) if text.text.starts_with("[image removed") => Part::text(IMAGE_REMOVED),
        Part::ToolResult(result) => {
            let mut result = result.clone();
            result.output = result.output.iter().map(named).collect();
            Part::ToolResult(result)
        }
        part => part.clone(),
    }
}
