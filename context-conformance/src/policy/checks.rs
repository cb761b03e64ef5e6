//! The rules for applying a plan to a conversation, implemented independently of the runtime.

use std::collections::HashMap;
use std::sync::Arc;

use context_core::history::{BoundaryKind, HistoryView, Plan};
use context_core::{Message, Part, Role};

use super::QuarterCounter;

/// Returns the messages after the plan is applied, or the reason why it must not be applied.
pub(super) fn applied(view: &HistoryView<'_>, plan: &Plan) -> Result<Vec<Arc<Message>>, String> {
    let before = view.messages();
    if plan.description.trim().is_empty() {
        return Err("the plan does not say what it does".to_owned());
    }
    if plan.edits.is_empty()
        || plan.edits.iter().any(|edit| edit.range.is_empty() && edit.with.is_empty())
    {
        return Err("a plan or an edit that does nothing".to_owned());
    }
    let compacted = plan.apply(before).map_err(|error| error.to_string())?;
    let after = compacted.messages;
    let tokens = HistoryView::new(&after, &QuarterCounter).total();
    if (plan.before, plan.after) != (view.total(), tokens) {
        let counted = (view.total(), tokens);
        return Err(format!("{} to {} tokens are in truth {counted:?}", plan.before, plan.after));
    }
    if tokens >= view.total() {
        return Err(format!("{tokens} tokens of {}", view.total()));
    }
    kept(before, &after, &compacted.origins, plan)?;
    for (which, request) in
        [("first", requests(before).next()), ("newest", requests(before).last())]
    {
        if request.is_some_and(|request| !compacted.origins.contains(&Some(request))) {
            return Err(format!("the {which} request is gone"));
        }
    }
    for at in (0..before.len()).filter(|at| view.anchors().is_verbatim(*at)) {
        let found = compacted.origins.iter().position(|origin| *origin == Some(at));
        let strips = plan.kind == BoundaryKind::Strip;
        if !found.is_some_and(|found| strips || equal_but_for_thoughts(&after[found], &before[at]))
        {
            return Err(format!("message {at} is gone or changed, but has to stay as it is"));
        }
    }
    let (halves, were) = (halves(&after), halves(before));
    if halves > were {
        return Err(format!("{halves} halves of pairs, where {were} were"));
    }
    let checkpoints: Vec<usize> =
        (0..after.len()).filter(|at| after[*at].is_checkpoint()).collect();
    let system = |messages: &[Arc<Message>]| {
        messages.iter().take_while(|message| message.role == Role::System).count()
    };
    let had = before[system(before)..].iter().take_while(|message| message.is_checkpoint()).count();
    let front = system(&after);
    let astray = checkpoints.iter().enumerate().any(|(number, at)| front + number != *at);
    if checkpoints.len() > had.max(1) || astray {
        return Err(format!("checkpoints at {checkpoints:?}"));
    }
    Ok(after.into())
}

/// Checks that messages that were neither replaced nor inserted are unchanged and in order, and
/// that a shortened message keeps its role.
fn kept(
    before: &[Arc<Message>],
    after: &[Arc<Message>],
    origins: &[Option<usize>],
    plan: &Plan,
) -> Result<(), String> {
    let mut last = None;
    for (message, origin) in after.iter().zip(origins) {
        let Some(origin) = *origin else {
            if message.role == Role::User && !message.is_synthetic() {
                return Err(format!("words are put into the user's mouth: {message:?}"));
            }
            continue;
        };
        if last.is_some_and(|last| last >= origin) {
            return Err("the order has changed".to_owned());
        }
        last = Some(origin);
        let edited = plan.edits.iter().any(|edit| edit.range.contains(&origin));
        if !edited && message != &before[origin] {
            return Err(format!("message {origin} is another one"));
        }
        // A checkpoint may replace another checkpoint. Other messages keep their role.
        if message.role != before[origin].role && !before[origin].is_checkpoint() {
            return Err(format!("message {origin} is spoken by {}", message.role));
        }
    }
    Ok(())
}

/// Returns whether two messages are equal but for thoughts.
fn equal_but_for_thoughts(one: &Message, other: &Message) -> bool {
    let bare = |message: &Message| {
        let mut message = message.clone();
        message.parts.retain(|part| !matches!(part, Part::Reasoning(_)));
        message
    };
    bare(one) == bare(other)
}

fn requests(messages: &[Arc<Message>]) -> impl Iterator<Item = usize> {
    messages.iter().enumerate().filter(|(_, message)| message.is_request()).map(|(at, _)| at)
}

/// Counts the calls without a later result, and the results without an earlier call.
fn halves(messages: &[Arc<Message>]) -> u64 {
    let (mut open, mut halves) = (HashMap::<&str, u64>::new(), 0);
    for message in messages {
        for part in &message.parts {
            match part {
                Part::ToolCall(call) if message.role == Role::Assistant => {
                    *open.entry(&call.id).or_default() += 1
                }
                Part::ToolResult(result) => match open.get_mut(result.call_id.as_str()) {
                    Some(calls) if *calls > 0 => *calls -= 1,
                    _ => halves += 1,
                },
                _ => {}
            }
        }
    }
    halves + open.values().sum::<u64>()
}
